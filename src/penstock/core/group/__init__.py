"""The worker group: its members, and what each of them runs (KIP-415)."""
