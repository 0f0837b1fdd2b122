"""Structured logs and metrics. The only place that configures structlog."""
