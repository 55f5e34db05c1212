"""Text to value: pure functions. A value that the text does not contain is None."""
