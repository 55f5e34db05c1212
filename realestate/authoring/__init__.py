"""Tools for the author of a portal: its first files, recorded pages, and what its parser returns for a document.

They work in a checkout of the project and in a folder of your own, and need no Redis and no store.
"""


class AuthoringError(Exception):
    """Something cannot be done. The text says why, in one line."""
