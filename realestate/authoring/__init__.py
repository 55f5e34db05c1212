"""Tools for the author of a portal: its first files, recorded pages, and what its parser returns for a document.

They need a checkout of the project, but no Redis and no store.
"""


class AuthoringError(Exception):
    """Something cannot be done. The text says why, in one line."""
