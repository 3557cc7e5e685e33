"""Records that are no changes of rows: heartbeats, and the beginnings and ends of transactions."""
