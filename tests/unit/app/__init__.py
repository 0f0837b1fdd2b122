"""Unit tests of connectd.app."""
