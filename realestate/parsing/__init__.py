"""TEXT -> VALUE: pure functions. What a text does not say is None."""
