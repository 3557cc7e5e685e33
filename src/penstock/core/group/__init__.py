"""The worker group: who is in it and who runs what (KIP-415)."""
