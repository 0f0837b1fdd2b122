"""Converters with a schema registry."""
