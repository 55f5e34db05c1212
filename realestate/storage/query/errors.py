"""The error of a question that cannot be understood."""


class QueryError(ValueError):
    """A filter, sort order, cursor or page size is wrong. The message is a sentence for the person who asked."""

    def __init__(self, message: str, position: int | None = None) -> None:
        self.position = position
        """The character of the filter at which it is wrong, the first is 1."""
        super().__init__(message if position is None else f"filter, character {position}: {message}")
