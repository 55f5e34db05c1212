"""By what a site is asked whether a listing's page is still as we read it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Source
from realestate.storage.postgres.asking import Asking
from realestate.storage.postgres.erased import stays_away
from realestate.storage.postgres.rows import arrays, unnested
from realestate.storage.validators import TRUSTED, PageRead, Validators

_COLUMNS = {each.name: "integer" if each.name == "parser_version" else "text" for each in fields(PageRead)}
_KEEP = f"""
    INSERT INTO validators ({", ".join(_COLUMNS)})
    SELECT {", ".join(_COLUMNS)} FROM {unnested("given", _COLUMNS)} WHERE NOT {stays_away("given")}
    ON CONFLICT (portal, ref) DO UPDATE
    SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name not in ("portal", "ref"))}, kept_at = now()
"""
#: The refs are told of both tables: of a portal it knows nothing of yet, PostgreSQL would begin with all its listings.
_HOLDING = """
    SELECT ref, page.url, page.etag, page.last_modified, known.rent_period
    FROM validators AS page JOIN listings AS known USING (portal, ref)
    WHERE portal = %(portal)s AND page.ref = ANY (%(refs)s) AND known.ref = ANY (%(refs)s)
      AND page.parser_version = %(parser_version)s AND page.content_hash = known.content_hash
      AND page.kept_at > now() - %(trusted)s AND known.suspect_price IS NULL
      AND known.status <> ALL (%(off_the_market)s)
      AND (%(contacts)s IS NULL OR EXISTS (
          SELECT FROM contacts
          WHERE contacts.portal = known.portal AND contacts.ref = known.ref AND source = %(contacts)s))
"""


class ValidatorsKept(Asking):
    """The part of the store that knows how to ask for a page again."""

    def keep_validators(self, read: Sequence[PageRead]) -> None:
        newest = {(each.portal, each.ref): each for each in read}
        rows = [attrgetter(*_COLUMNS)(each) for _, each in sorted(newest.items())]
        self._ask(_KEEP, arrays("given", _COLUMNS, rows))

    def validators(
        self, portal: str, refs: Sequence[str], parser_version: int, contacts: Source | None = None
    ) -> Mapping[str, Validators]:
        told = {"portal": portal, "refs": list(refs), "parser_version": parser_version, "contacts": contacts}
        told |= {"trusted": TRUSTED, "off_the_market": list(OFF_THE_MARKET)}
        return {ref: Validators(*page) for ref, *page in self._ask(_HOLDING, told)}
