"""History of each connector: versions of its configuration and target state, and events."""
