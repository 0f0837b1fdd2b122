"""Structured logs; later metrics. The only place that configures structlog."""
