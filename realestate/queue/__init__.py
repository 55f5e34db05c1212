"""WHICH request next: what the fleet shares in Redis."""
