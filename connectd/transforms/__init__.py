"""Single message transforms. None is built in yet."""
