"""Reads the environment. No other module does.

A variable with a wrong value ends the program with one line that names the variable and what it needs. Values that may
contain a password are never printed.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from realestate import old_names
from realestate.middlewares.proxies import BadProxy, parse_proxies, split_proxies
from realestate.queue.credentials import without_credentials

#: The variables that say where Redis and the store are. If none is set, the embedded services are used.
ADDRESSES = ("REDIS_URL", "REDIS_HOST", "STORE_URL", "POSTGRES_HOST", "MONGODB_URI")
#: The variables that may hold a secret. Each may be in a file, whose path is in the variable with `_FILE` behind its
#: name, as with the images of PostgreSQL: what a process has in its environment, `docker inspect` shows.
SECRETS = frozenset(
    {
        "CONTACTS_KEYS",
        "MONGODB_URI",
        "NOTIFY_URLS",
        "POSTGRES_PASSWORD",
        "PROXY_PROVIDER_PASSWORD",
        "REDIS_PASSWORD",
        "REDIS_URL",
        "STORE_URL",
        "TELEGRAM_BOT_TOKEN",
        "WEBHOOK_SECRET",
    }
)


def variable(name: str) -> str | None:
    """The text of a variable, or of its old name. An empty variable counts as unset, since compose files and shells
    leave such variables behind."""
    if text := os.environ.get(name):
        if name in SECRETS and os.environ.get(f"{name}_FILE"):
            raise SystemExit(f"realestate: {name} and {name}_FILE are both set: one of them is needed")
        return text
    if name in SECRETS and (path := os.environ.get(f"{name}_FILE")):
        return _secret(name, path)
    old = old_names.old_name_of(name)
    text = os.environ.get(old) if old else None
    if old and text:
        old_names.warn_of_variable(old)
    return text or None


def _secret(name: str, path: str) -> str | None:
    """The text of a file, without the end of its last line."""
    try:
        return Path(path).read_text("utf-8").rstrip("\r\n") or None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SystemExit(f"realestate: {name}_FILE: {path} cannot be read: {reason}") from None


def number(name: str, default: float) -> float:
    """A number of 0 or more."""
    text = variable(name)
    try:
        value = float(text) if text else default
        if not 0 <= value < float("inf"):
            raise ValueError
        return value
    except ValueError:
        raise SystemExit(f"realestate: {name} is {text!r}: a number of 0 or more is needed") from None


def share(name: str, default: float) -> float:
    """A number from 0 to 1."""
    value = number(name, default)
    if value > 1:
        raise SystemExit(f"realestate: {name} is {value:g}: a number from 0 to 1 is needed")
    return value


def word(name: str, words: tuple[str, ...]) -> str:
    """One of the words in upper case; the first one is the default."""
    text = (variable(name) or words[0]).upper()
    if text not in words:
        raise SystemExit(f"realestate: {name} is {text!r}: one of {', '.join(words)} is needed")
    return text


def fernet_keys(name: str) -> tuple[str, ...]:
    """Fernet keys, separated by commas. An error message does not contain the key."""
    keys = tuple(filter(None, (key.strip() for key in (variable(name) or "").split(","))))
    for position, key in enumerate(keys, start=1):
        if not re.fullmatch(r"[\w-]{43}=", key, re.ASCII):
            raise SystemExit(
                f"realestate: {name}: key {position} is not a Fernet key (docs/settings.md says how to make one)"
            )
    return keys


def proxies(name: str, default: str | None = None) -> tuple[str, ...]:
    """Addresses of proxies. An error message does not contain their credentials."""
    texts = tuple(split_proxies(variable(name) or default or ""))
    try:
        parse_proxies(texts)
    except BadProxy as error:
        raise SystemExit(f"realestate: {name}: {error}") from None
    return texts


def form(name: str, pattern: str, example: str) -> str | None:
    """A text that matches the pattern. An error message shows the example, not the value: it may be a password that
    was set in the wrong variable."""
    text = variable(name)
    if text and not re.fullmatch(pattern, text, re.ASCII):
        raise SystemExit(f"realestate: {name}: something like {example} is needed")
    return text


def file(name: str) -> Path | None:
    """The path of a file that exists."""
    text = variable(name)
    if text and not Path(text).is_file():
        raise SystemExit(f"realestate: {name}: there is no such file")
    return Path(text) if text else None


def project_folder() -> Path:
    """The folder of the user's project: the nearest one with a scrapy.cfg, from here upwards; without one, this one."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "scrapy.cfg").is_file()), here)


def folder_or_bucket(name: str, default: Path) -> str:
    """A folder, or s3://bucket/prefix."""
    text = variable(name) or str(default)
    if "://" in text and not text.startswith(("file:///", "s3://")):
        shown = without_credentials(text)
        raise SystemExit(f"realestate: {name} is {shown!r}: a folder or s3://bucket/prefix is needed")
    return text


def sha256(name: str, default: str) -> str:
    """A SHA-256 in lower-case hexadecimal digits."""
    text = (variable(name) or default).strip().lower()
    if not re.fullmatch(r"[0-9a-f]{64}", text, re.ASCII):
        raise SystemExit(f"realestate: {name} is {text!r}: a SHA-256 in 64 hexadecimal digits is needed")
    return text


def redis_url() -> str | None:
    """REDIS_URL, or the URL made from REDIS_HOST and the variables beside it, which scrapy-redis users set. The URL is
    checked when it is used, so that `realestate doctor` can name it."""
    if url := variable("REDIS_URL"):
        return url
    if host := variable("REDIS_HOST"):
        port = variable("REDIS_PORT") or "6379"
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            raise SystemExit(f"realestate: REDIS_PORT is {port!r}: a number from 1 to 65535 is needed")
        database = variable("REDIS_DB") or "0"
        if not (database.isascii() and database.isdigit()):
            raise SystemExit(f"realestate: REDIS_DB is {database!r}: the number of a database is needed")
        return f"redis://{_redis_login()}{host}:{port}/{database}"
    return None


def _redis_login() -> str:
    """User and password for an address. Without a password there is no login, whatever the name of the user."""
    password = variable("REDIS_PASSWORD")
    user = variable("REDIS_USERNAME") or ""
    return f"{quote(user, safe='')}:{quote(password, safe='')}@" if password else ""


def http_url(name: str) -> str | None:
    """The address of a server, such as http://127.0.0.1:8800, without a slash at the end."""
    text = variable(name)
    if text is None:
        return None
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or any(character.isspace() for character in text):
        raise SystemExit(f"realestate: {name}: something like http://127.0.0.1:8800 is needed")
    return text.rstrip("/")


def ban_rules(name: str) -> str | None:
    """The path of a file with ban rules that can be used."""
    path = file(name)
    if path is None:
        return None
    from realestate.middlewares.bans import BadBanRules, read_ban_rules

    try:
        read_ban_rules(path)
    except (BadBanRules, OSError, UnicodeDecodeError) as error:
        line = " ".join(str(error).split())
        raise SystemExit(f"realestate: {name}: {line}") from None
    return str(path)


def store_url() -> str | None:
    """STORE_URL, or the URL made from the variables that the images of PostgreSQL and MongoDB use."""
    if url := variable("STORE_URL"):
        return url
    # A whole address counts more than parts: in docker-compose.yaml, POSTGRES_HOST has a default.
    if uri := variable("MONGODB_URI"):
        return _mongodb_url(uri, variable("DATABASE_NAME"))
    if host := variable("POSTGRES_HOST"):
        return _postgres_url(host)
    return None


def _postgres_url(host: str) -> str:
    user = variable("POSTGRES_USER") or "postgres"
    password = variable("POSTGRES_PASSWORD")
    login = quote(user, safe="")
    if password:
        login += ":" + quote(password, safe="")
    port = variable("POSTGRES_PORT") or 5432
    database = variable("POSTGRES_DB") or user
    return f"postgresql://{login}@{host}:{port}/{database}"


def _mongodb_url(uri: str, database: str | None) -> str:
    """The address with the name of our database in it.

    If the address already named a database, the user's account is in that one: it becomes `authSource`.
    """
    parts = urlsplit(uri)
    named = parts.path.strip("/")
    query = parts.query
    if database and named and "@" in parts.netloc and "authsource=" not in query.lower():
        query = f"{query}&authSource={named}" if query else f"authSource={named}"
    return parts._replace(path=f"/{database or named or 'realestate'}", query=query).geturl()


def notify_urls() -> tuple[str, ...]:
    """NOTIFY_URLS, and the chats of TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID. An error message contains no address: it
    may be a secret. Whether apprise understands an address is checked when it is used."""
    from realestate.monitoring.addresses import BadAddress, split_addresses, telegram_addresses

    token = variable("TELEGRAM_BOT_TOKEN")
    chats = variable("TELEGRAM_CHAT_ID")
    if bool(token) != bool(chats):
        raise SystemExit("realestate: TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID are needed together")
    try:
        addresses = split_addresses(variable("NOTIFY_URLS") or "")
    except BadAddress as error:
        raise SystemExit(f"realestate: NOTIFY_URLS: {error}") from None
    try:
        addresses += telegram_addresses(token, chats) if token and chats else []
    except BadAddress as error:
        raise SystemExit(f"realestate: {error}") from None
    return tuple(dict.fromkeys(addresses))


def changed(**changes: str) -> Mapping[str, str]:
    """The environment for a process that we start: our own, with these changes."""
    return {**os.environ, **changes}
