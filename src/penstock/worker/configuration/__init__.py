"""What a worker does with connectors' configurations before it runs them."""
