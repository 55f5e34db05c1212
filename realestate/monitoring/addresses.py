"""The addresses of NOTIFY_URLS and of a Telegram bot. They are secrets: no message shows one."""

import re
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)


class BadAddress(ValueError):
    """An address to which nothing can be sent. The message does not contain it."""


def split_addresses(text: str) -> list[str]:
    """The addresses in NOTIFY_URLS, separated by commas, spaces or lines. Raises BadAddress."""
    addresses = [each for each in re.split(r"[\s,]+(?=[a-zA-Z][\w+.-]*://)|\s+", text.strip(" \t\r\n,")) if each]
    for place, each in enumerate(addresses, 1):
        if not _ADDRESS.fullmatch(each):
            raise BadAddress(f"address {place} has no scheme: something like tgram://token/chat is needed")
    return addresses


def telegram_addresses(token: str, chats: str) -> list[str]:
    """The addresses of a bot's chats, one for each, so that a chat that is reached is not written to again because
    another was not."""
    if not re.fullmatch(r"\d+:[\w-]+", token, re.ASCII):
        raise BadAddress("TELEGRAM_BOT_TOKEN: something like 123456:ABC-def is needed, as BotFather shows it")
    names = [each for each in re.split(r"[\s,]+", chats) if each]
    if not names or not all(re.fullmatch(r"-?\d+|@\w+", each, re.ASCII) for each in names):
        raise BadAddress("TELEGRAM_CHAT_ID: a number such as -1001234567890, or @channel, is needed")
    return [f"tgram://{token}/{each}/" for each in names]


def shown(url: str) -> str:
    """The part of an address that may be shown: everything else may be a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:  # as of http://[
        return f"{url.partition(':')[0]}://…"
    return f"{parts.scheme}://{parts.hostname}" if parts.scheme in ("http", "https") else f"{parts.scheme}://…"
