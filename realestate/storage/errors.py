"""The errors of a store."""


class StoreError(RuntimeError):
    """The store cannot be used as configured. The message is shown to the user."""


class StoreAway(StoreError):
    """The database is not available. The same call may succeed later."""
