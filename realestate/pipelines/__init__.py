"""WHAT happens to one listing."""
