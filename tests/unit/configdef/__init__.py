"""Unit tests of connectd.configdef."""
