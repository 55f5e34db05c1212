"""The words, units and dates beside digits, which say whether these are a telephone, a price, a date or a reference."""

import re

#: Characters before a number that are searched for a word.
_NEAR = 48


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_NUMBER = _any(r"n[öo]mr[əe]\w{0,5} number nummer num[ée]ro nr no n° № #")
_PHONE_WORD = _any(
    r"""t[eé]l\w{0,10} mobi?l?\w{0,6} gsm (?:tele)?phone ph fax call contact\w{0,5} imo bel(?:len)? appel\w{0,5}
    whats\s?app\w{0,4} w[ha]{0,2}tsap+\w{0,4} v[ao]tsap+\w{0,4} wapp? wp viber telegram signal
    [əe]laq[əe]\w{0,4} z[əe]ng\w{0,3} n[öo]mr[əe]m\w{0,3}"""
)
_FILLER_WORD = _any(r"edin ed[əe] bil[əe]rsiniz et saxlay[ıi]n yaz[ıi]n us me ons mij moi nous le at on op au")
_PHONE_EMOJI = "☎☏✆📞📱📲🤙"
_LETTER_OR_EMOJI = re.compile(rf"[^\W\d_]|[{_PHONE_EMOJI}]")
_LETTER_EMOJI_OR_PLUS = re.compile(rf"{_LETTER_OR_EMOJI.pattern}|[+＋]")
_PHONE = re.compile(
    rf"(?:\b{_PHONE_WORD}|[{_PHONE_EMOJI}])(?:\W{{0,4}}(?:{_NUMBER}|\b{_FILLER_WORD}\b)){{0,3}}\W{{0,5}}$",
    re.IGNORECASE,
)
_REFERENCE_WORD = _any(
    r"""r[eé]f\w{0,8} kodu? code id elan\w{0,4} annonce zoekertje advert\w{0,7} listing dossier\w{0,6} lot
    [ck]adast\w{0,5} reyestr\w{0,4} seriya iban rekening\w{0,6} compte hesab\w{0,3} e?pc peb uc sku"""
)
_REFERENCE = re.compile(rf"\b{_REFERENCE_WORD}(?:\W{{0,4}}{_NUMBER})?\W{{0,4}}$", re.IGNORECASE)

_SYMBOLS = "€$£₼₽"
_CURRENCY = r"zł eur euros? azn usd gbp pln zar manat\w{0,4} man"
_PRICE_WORD = _any(rf"{_CURRENCY} qiym[əe]t\w{{0,4}} price prix prijs cena preis")
_MONEY_BEFORE = re.compile(rf"(?:[{_SYMBOLS}]|\b{_PRICE_WORD})\W{{0,3}}$", re.IGNORECASE)
_UNIT_WORD = _any(
    rf"""{_CURRENCY} [mм][²2]? km cm kv sot ha ar hektar sq sqft kwh min [əe]d[əe]d otaq\w{{0,5}} m[əe]rt[əe]b\w{{0,5}}
    bed\w{{0,6}} rooms? bath\w{{0,5}} kamers? slaapkamers? chambres? pi[eè]ces? [ée]tages? zimmer pok\w{{0,3}}
    il ild[əe] years? jaar ans"""
)
_UNIT_AFTER = re.compile(rf"[ \u00a0]?(?:[{_SYMBOLS}%²°]|{_UNIT_WORD}\b)", re.IGNORECASE)

_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_HOUR = r"(?:[01]?\d|2[0-4])"
_DEGREES = r"-?(?:0|[1-9]\d{0,2})[.,]\d{4,}"
#: Dates, opening hours, coordinates. A short one may also be the end of a telephone: "0475 12.10.26".
_HARMLESS = re.compile(
    rf"""(?<![\w+])(?<!\w[./:-])(?:
        (?:19|20)\d\d(?P<a>[-./]){_MONTH}(?P=a){_DAY}(?:[T\s]{_HOUR}:[0-5]\d(?::[0-5]\d)?)?
        |{_DAY}(?P<b>[-./]){_MONTH}(?P=b)(?:19|20)\d\d
        |{_DEGREES}\s?[,;/\s]\s?{_DEGREES}
        |(?P<short>{_HOUR}:[0-5]\d(?::[0-5]\d)?
            |{_DAY}(?P<c>[-./]){_MONTH}(?P=c)\d\d
            |{_HOUR}[.:][0-5]\d\s?[-–]\s?{_HOUR}[.:][0-5]\d)
    )(?!\w|[./:-][\doOоО])""",
    re.VERBOSE,
)
_AREA_BEFORE = re.compile(r"(?:(?<!\w)[0oOоО][\doOоО]{1,4}|[+＋][\d\s(]{1,12})\)?[\s/-]{1,3}$")
_TAXPAYER = re.compile(r"V[ÖO]EN\W{0,4}(\d{10})\b", re.IGNORECASE)
#: A Belgian company number has the form of a mobile telephone; its last two digits are a checksum.
_COMPANY = re.compile(
    r"(?:\bBE|TVA|BTW|VAT|KBO|BCE|RPM|RPR|nummer|entreprise)\W{0,6}(?:BE\W{0,2})?([01]\d{3}[ .]?\d{3}[ .]?\d{3})\b",
    re.IGNORECASE,
)


def announces_phone(text: str, start: int) -> bool:
    """Return whether the words before the position announce a telephone."""
    before = text[max(0, start - _NEAR) : start]
    if not _LETTER_OR_EMOJI.search(before):
        return False
    return bool(_PHONE.search(before)) and not _REFERENCE.search(before)


def may_be_announced(text: str, first: int, last: int) -> bool:
    """Return whether a letter, a telephone emoji or a + stands before digits that begin from `first` to `last`."""
    return _LETTER_EMOJI_OR_PLUS.search(text, max(0, first - _NEAR), last) is not None


def announces_reference(text: str, start: int) -> bool:
    return bool(_REFERENCE.search(text[max(0, start - _NEAR) : start]))


def is_money_or_measure(text: str, start: int, end: int) -> bool:
    return unit_follows(text, end) or bool(_MONEY_BEFORE.search(text[max(0, start - _NEAR) : start]))


def unit_follows(text: str, end: int) -> bool:
    return bool(_UNIT_AFTER.match(text, end))


def harmless_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of dates, hours, coordinates and company numbers, which have the form of telephones."""
    return [
        *(found.span() for found in _HARMLESS.finditer(text, start, end) if not _is_end_of_phone(found)),
        *(found.span(1) for found in _TAXPAYER.finditer(text, start, end)),
        *(found.span(1) for found in _COMPANY.finditer(text, start, end) if _is_company(re.sub(r"\D", "", found[1]))),
    ]


def _is_end_of_phone(found: re.Match[str]) -> bool:
    if found["short"] is None:
        return False
    return bool(_AREA_BEFORE.search(found.string[max(0, found.start() - _NEAR) : found.start()]))


def _is_company(digits: str) -> bool:
    return 97 - int(digits[:8]) % 97 == int(digits[8:])
