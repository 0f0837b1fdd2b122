"""The Kafka Connect REST API. Only this package imports fastapi and uvicorn."""
