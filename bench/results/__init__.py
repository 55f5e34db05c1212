"""Measures are compared with those of another day, and shown."""
