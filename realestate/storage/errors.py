"""What can be wrong with a store."""


class StoreError(RuntimeError):
    """The store cannot be used as configured; the text is for a person."""


class StoreAway(StoreError):
    """The database does not answer; the same call may succeed later."""
