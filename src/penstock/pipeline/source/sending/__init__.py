"""From a source task's converted records to Kafka: the producer's arguments, its limits, and what has arrived."""
