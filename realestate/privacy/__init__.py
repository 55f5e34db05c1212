"""Finds and removes personal data: names, telephones, e-mail addresses, messenger accounts.

Other rooms import from here only. `strip_persons` takes a record, `scrub` and `find_contacts` take one text,
`key_meaning` takes the key of a JSON document, `clean_error` an error of a parser.
"""

from realestate.privacy.contacts import MARK, find_contacts, scrub
from realestate.privacy.errors import clean_error
from realestate.privacy.numbering_plans import COUNTRIES
from realestate.privacy.strip import KeyMeaning, Stripped, key_meaning, strip_persons

__all__ = [
    "COUNTRIES",
    "MARK",
    "KeyMeaning",
    "Stripped",
    "clean_error",
    "find_contacts",
    "key_meaning",
    "scrub",
    "strip_persons",
]
