"""Settings that nothing reads, and what may be meant by them."""
