"""Unit tests of connectd.observe."""
