"""Unit tests of connectd.plugins."""
