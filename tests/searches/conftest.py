"""Stores of each kind, and a receiver of messages."""

from tests.monitoring.conftest import any_store, any_url, receiver

__all__ = ["any_store", "any_url", "receiver"]
