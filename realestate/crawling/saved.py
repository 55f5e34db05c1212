"""Documents that were saved without their address, or without the page around them."""


class Saved:
    """What a portal may say of such documents. A crawl does not ask."""

    def wrapped(self, document: bytes) -> bytes:
        """A bare object as the page that would hold it; every other document as it is."""
        return document

    def ref_in(self, document: str) -> str | None:
        """The portal's id, where a listing's page tells it in a place of its own."""
        return None
