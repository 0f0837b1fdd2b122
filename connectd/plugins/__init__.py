"""The interfaces that plugins implement (spi) and the registry that finds them by name."""
