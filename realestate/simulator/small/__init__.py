"""Portals we know less of, each in one file: their searches, their pages, and the truth of them."""
