"""Durable homes of connector configs, source offsets and statuses."""
