"""Whether a name is that of a firm. A RealEstateAgent may be a person, and a person's name is not stored."""

import re

from realestate.parsing.unknown_pages.vocabulary import words

_FIRM = re.compile(
    r"(?<![^ ])(?:"
    r"real estate|properties|property|realty|realtors?|estates?|homes?|group|gmbh|ag|kg|ohg|ug|ltd|limited"
    r"|llc|llp|inc|plc|sa|sarl|sas|srl|spa|sl|slu|bv|nv|bvba|sprl|ab|as|aps|oy|kft|doo|sro|sp|zoo"
    r"|immobilien[^ ]*|immo[^ ]*|inmobiliari[^ ]*|imobiliari[^ ]*|agenc[^ ]*|agentur|agentie|agenzia"
    r"|makler[^ ]*|maklare|makelaar[^ ]*|megler[^ ]*|nieruchomosci|emlak|gayrimenkul|insaat|yatirim"
    r"|construction|constructions|developments?|developers?|holdings?|partners|associates|international"
    r"|invest[^ ]*|capital|housing|недвижимость|агентство|consult[^ ]*|company|co|lettings|residential"
    r"|brokers?|brokerage|bank|sparkasse|casa|casas|house|houses"
    r")(?![^ ])"
)
_NAME = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]*)*")


def is_firm(name: str) -> bool:
    """Return whether a name is no person's: it has a word of firms, a digit or a sign, is one word in capitals, or is
    longer than a person's name. "Anna" may be a first name."""
    if _FIRM.search(words(name)) or re.search(r"[\d&@+|/]", name):
        return True
    parts = name.split()
    if len(parts) == 1 and sum(each.isupper() for each in name) > 1:  # "HOMEFINDER", "HomeFinder"
        return True
    return not (len(parts) <= 4 and all(_NAME.fullmatch(each.strip(",")) for each in parts))
