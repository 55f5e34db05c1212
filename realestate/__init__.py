"""Property listings of many portals, collected by a fleet over Redis, kept with their history."""

__version__ = "0.2.0"
