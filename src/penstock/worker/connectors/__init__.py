"""The connectors that run on this worker: the threads of their plugins' code."""
