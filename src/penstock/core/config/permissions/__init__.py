"""What the configurations of connectors may do, by the choice of a worker's operator."""
