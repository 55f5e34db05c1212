"""WHAT THE ENVIRONMENT SAYS: the only reader of it. What is wrong with a variable is one clear line, and the end."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from realestate.middlewares.proxies import BadProxy, listed, parse_all

#: All by which Redis and the store are found: without any of them, the services of REALESTATE_HOME are.
ADDRESSES = ("REDIS_URL", "REDIS_HOST", "STORE_URL", "POSTGRES_HOST", "MONGODB_URI")


def variable(name: str) -> str | None:
    """An empty variable counts as unset: compose files and shells leave such behind."""
    return os.environ.get(name) or None


def number(name: str, default: float) -> float:
    text = variable(name)
    try:
        given = float(text) if text else default
        if not 0 <= given < float("inf"):
            raise ValueError
        return given
    except ValueError:
        raise SystemExit(f"realestate: {name} is {text!r}: a number of 0 or more is needed") from None


def share(name: str, default: float) -> float:
    given = number(name, default)
    if given > 1:
        raise SystemExit(f"realestate: {name} is {given:g}: a number from 0 to 1 is needed")
    return given


def word(name: str, words: tuple[str, ...]) -> str:
    """One of the words, the first by default."""
    text = (variable(name) or words[0]).upper()
    if text not in words:
        raise SystemExit(f"realestate: {name} is {text!r}: one of {', '.join(words)} is needed")
    return text


def fernet_keys(name: str) -> tuple[str, ...]:
    """Fernet keys, parted by commas. What is wrong with one is told without telling it."""
    keys = tuple(filter(None, (key.strip() for key in (variable(name) or "").split(","))))
    for place, key in enumerate(keys, start=1):
        if not re.fullmatch(r"[\w-]{43}=", key, re.ASCII):
            raise SystemExit(
                f"realestate: {name}: key {place} is no Fernet key (docs/settings.md says how to make one)"
            )
    return keys


def proxies(name: str, default: str | None = None) -> tuple[str, ...]:
    """Addresses of proxies. What is wrong with one is told without its credentials."""
    texts = tuple(listed(variable(name) or default or ""))
    try:
        parse_all(texts)
    except BadProxy as error:
        raise SystemExit(f"realestate: {name}: {error}") from None
    return texts


def form(name: str, form: str, example: str) -> str | None:
    """A text of this form. What was given is not told: it may be a password in the wrong place."""
    text = variable(name)
    if text and not re.fullmatch(form, text, re.ASCII):
        raise SystemExit(f"realestate: {name}: something like {example} is needed")
    return text


def file(name: str) -> Path | None:
    text = variable(name)
    if text and not Path(text).is_file():
        raise SystemExit(f"realestate: {name}: there is no such file")
    return Path(text) if text else None


def sha256(name: str, default: str) -> str:
    text = (variable(name) or default).strip().lower()
    if not re.fullmatch(r"[0-9a-f]{64}", text, re.ASCII):
        raise SystemExit(f"realestate: {name} is {text!r}: a SHA-256 in 64 hexadecimal digits is needed")
    return text


def redis_url() -> str | None:
    """REDIS_URL, or the parts that scrapy-redis users set."""
    host = variable("REDIS_HOST")
    if url := variable("REDIS_URL"):
        return url
    return f"redis://{host}:{variable('REDIS_PORT') or 6379}/0" if host else None


def store_url() -> str | None:
    """STORE_URL, or the parts that users of PostgreSQL and MongoDB images set."""
    if url := variable("STORE_URL"):
        return url
    if host := variable("POSTGRES_HOST"):
        user, password = variable("POSTGRES_USER") or "postgres", variable("POSTGRES_PASSWORD")
        login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
        return f"postgresql://{login}@{host}:{variable('POSTGRES_PORT') or 5432}/{variable('POSTGRES_DB') or user}"
    if uri := variable("MONGODB_URI"):
        return _mongodb_url(uri, variable("DATABASE_NAME"))
    return None


def _mongodb_url(uri: str, database: str | None) -> str:
    """The database's name goes before the options. If the address named another, a user is still looked for there."""
    parts = urlsplit(uri)
    named = parts.path.strip("/")
    query = parts.query
    if database and named and "@" in parts.netloc and "authsource=" not in query.lower():
        query = f"{query}&authSource={named}" if query else f"authSource={named}"
    return parts._replace(path=f"/{database or named or 'realestate'}", query=query).geturl()


def place(name: str, default: Path) -> str:
    """A folder, or a bucket."""
    text = variable(name) or str(default)
    if "://" in text and not text.startswith(("file:///", "s3://")):
        raise SystemExit(f"realestate: {name} is {text!r}: a folder or s3://bucket/prefix is needed")
    return text


def changed(**changes: str) -> Mapping[str, str]:
    """The environment for a process we start: ours, with these changes."""
    return {**os.environ, **changes}
