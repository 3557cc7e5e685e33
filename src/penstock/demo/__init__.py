"""The demo: a broker, a worker and connectors with real data, on this machine, and proof that nothing is lost."""
