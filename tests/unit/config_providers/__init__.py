"""Unit tests of connectd.config_providers."""
