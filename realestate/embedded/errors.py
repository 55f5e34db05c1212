"""What goes wrong with the embedded services, in one line a person can act upon."""


class EmbeddedError(RuntimeError):
    """An embedded service is missing, or did not start."""
