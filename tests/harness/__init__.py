"""Real parts as processes: Apache Kafka, the DynamoDB endpoint, the connectd worker."""
