"""Writes the first files of a portal: a spider and invented pages, which pass the tests. Its author changes them."""

import keyword
import re
import sys
from datetime import date
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from realestate.authoring import AuthoringError, project_files

#: Where a portal may have its data. Each kind has its templates.
KINDS = ("html", "jsonld", "next", "script", "api")
_TEMPLATES = files("realestate.authoring") / "templates"
#: The expected values are the same for all kinds: the pages show the same invented homes.
_COMMON = ("search.json", "listing-flat.json")


def create(
    name: str,
    kind: str,
    today: date,
    *,
    site: str | None = None,
    country: str | None = None,
    currency: str | None = None,
    timezone: str | None = None,
) -> list[Path]:
    """Write a portal's files and return their paths. Raises AuthoringError if one exists already."""
    facts = _facts(name, today, site, country or "BE", currency or "EUR", timezone or "Europe/Brussels")
    if kind not in KINDS:
        raise AuthoringError(f"unknown kind {kind!r}; use one of: {', '.join(KINDS)}")
    folder = project_files.pages_folder(name)
    if folder.exists():
        raise AuthoringError(f"{project_files.shown(folder)} exists already")
    written = {project_files.spider_file(name): _filled(f"{kind}.py", facts)}
    written |= {folder / page: _filled(f"{kind}.{page}", facts) for page in _pages(kind)}
    written |= {folder / page: _filled(page, facts) for page in _COMMON}
    project_files.write(written)
    return list(written)


def _pages(kind: str) -> list[str]:
    names = (each.name.removesuffix(".txt") for each in _TEMPLATES.iterdir())
    return sorted(name.removeprefix(f"{kind}.") for name in names if re.match(rf"{kind}\.(?:search|listing)", name))


def _filled(template: str, facts: dict[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.txt").read_text("utf-8")
    return re.sub(r"<<(\w+)>>", lambda found: facts[found[1]], text)


def _facts(name: str, today: date, site: str | None, country: str, currency: str, timezone: str) -> dict[str, str]:
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", name):
        raise AuthoringError(f"{name!r}: use a name in lower case, such as example or example_be")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) or name in sys.stdlib_module_names:
        raise AuthoringError(f"{name!r} is a word or a module of Python: use another name, such as {name}_be")
    site = (site or f"https://www.{name.replace('_', '-')}.example").rstrip("/")
    if not re.fullmatch(r"https?://[\w.-]+(?::\d+)?", site):
        raise AuthoringError(f"{site!r}: use an address such as https://www.example.com")
    if not re.fullmatch(r"[A-Z]{2}", country) or not re.fullmatch(r"[A-Z]{3}", currency):
        raise AuthoringError(f"{country!r}, {currency!r}: use codes such as BE and EUR")
    if timezone not in available_timezones():
        raise AuthoringError(f"{timezone!r}: use a time zone such as Europe/Brussels")
    return {
        "name": name,
        "class": name.title().replace("_", ""),
        "site": site,
        "host": urlsplit(site).hostname or "",
        "country": country,
        "currency": currency,
        "timezone": str(ZoneInfo(timezone)),
        "today": f"{today.year}, {today.month}, {today.day}",
    }
