"""The portals: one file each. A long table of words is a file beside it."""
