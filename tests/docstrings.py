"""The docstrings of the fields of Listing."""

from realestate.items import Listing, docstrings


def field_docstrings() -> dict[str, str]:
    return docstrings.field_docstrings(Listing)
