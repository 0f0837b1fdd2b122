"""The Kafka adapter. Only this package imports confluent_kafka."""
