"""The errors of an export."""


class ExportError(RuntimeError):
    """The export failed. No file has its final name. The message is one line."""


class WrongExport(ExportError):
    """Something else must be asked for: another format, another name, fewer rows. The message says what."""


class MissingExtra(ExportError):
    """A library is not installed."""

    def __init__(self, what: str, extra: str = "analysis") -> None:
        super().__init__(f"{what} needs libraries that are not installed: pip install 'realestate[{extra}]'")
