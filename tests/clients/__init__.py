"""Public clients of Kafka Connect, unmodified, against a real worker on real Kafka."""
