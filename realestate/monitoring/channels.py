"""Channels: how a notification reaches its target.

A target is a text in the store, so it must name no secret and open no way into our network:

- `notify:<id>` is one address of NOTIFY_URLS. The id is a hash of it; the address itself stays in the environment.
- `https://…` is a webhook that a user registered. It must be public, and its deliveries are signed with WEBHOOK_SECRET.
- `<name>:<rest>` is resolved by whoever registered the name, for targets with a secret of their own.

Deliveries to webhooks are signed as https://www.standardwebhooks.com describes: `webhook-id` is the id of the
notification, `webhook-timestamp` the time of the attempt, and `webhook-signature` is `v1,` and the base64 of the
HMAC-SHA256 of `<id>.<timestamp>.<body>`.
"""

import asyncio
import base64
import hmac
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from realestate.monitoring.addresses import BadAddress, shown
from realestate.queue.credentials import without_credentials
from realestate.storage.outbox import Notification

#: The longest time of one delivery. It must be much shorter than the lease of a notification.
TIMEOUT_SECONDS = 20.0
#: A receiver that asks for a longer pause is asked again after this.
LONGEST_PAUSE_SECONDS = 24 * 3600.0
#: Refusals that may pass: too early, too many requests, timeouts, conflicts with an attempt under way.
_TEMPORARY = frozenset({408, 409, 421, 423, 425, 429})


class NotAccepted(Exception):
    """The receiver did not accept the notification now. It may later."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds for which the receiver wants nothing at all."""


class NotYet(NotAccepted):
    """We wait before we send it, by our own rate limit. Messages behind it wait because it is before them: they are not
    touched, as there may be thousands."""


class Unreachable(NotAccepted):
    """The receiver does not respond: all messages to it wait. Each would take TIMEOUT_SECONDS, and those to others wait
    meanwhile."""


class RefusedForGood(Exception):
    """The receiver will never accept this notification."""


class Channel(Protocol):
    """Delivers to one target."""

    def send(self, notification: Notification) -> None:
        """Return when the receiver accepted it. Raises NotAccepted or RefusedForGood."""


Resolver = Callable[[str], Channel | None]
"""Gets a target, and returns its channel; None if there is no such target any more."""


@dataclass(frozen=True, slots=True)
class AppriseChannel:
    """Telegram, Slack, e-mail and a hundred more: whatever apprise understands."""

    url: str

    def send(self, notification: Notification) -> None:
        import apprise

        receiver = apprise.Apprise()
        if not receiver.add(self.url):
            raise RefusedForGood("apprise does not understand this address")
        with _LastStatus() as last:
            is_sent = receiver.notify(title=notification.title, body=notification.body or notification.title)
        if not is_sent:
            raise NotAccepted(last.reason)


class _LastStatus(logging.Handler):
    """What apprise says about a failed delivery: it returns only False, and logs why."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.reason = "not accepted"
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread != self._thread:
            return  # another delivery
        self.reason = without_credentials(" ".join(record.getMessage().split()))[:300]

    def __enter__(self) -> "_LastStatus":
        logging.getLogger("apprise").addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger("apprise").removeHandler(self)


@dataclass(frozen=True, slots=True)
class WebhookChannel:
    """Posts the notification as JSON to a URL."""

    url: str
    secret: str | None = None
    """Signs the deliveries."""
    may_be_private: bool = False
    """Whether the URL may lead to this machine or its network."""

    def send(self, notification: Notification) -> None:
        body = webhook_body(notification)
        headers = signed_headers(notification.id, body, self.secret, int(time.time()))
        status, retry_after = asyncio.run(_post(self.url, body, headers, may_be_private=self.may_be_private))
        if 200 <= status < 300:
            return
        if status == 410 or (300 <= status < 500 and status not in _TEMPORARY):
            raise RefusedForGood(f"HTTP {status}")
        raise NotAccepted(f"HTTP {status}", retry_after)


def demand_webhook(url: str, *, may_be_private: bool) -> None:
    """Raises BadAddress where nothing could ever be sent. What a name resolves to is checked when it is sent."""
    from realestate.middlewares.public_addresses import AddressGuard, ForbiddenAddress

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port == 0:
        raise BadAddress("a webhook is an address such as https://example.org/hook")
    try:
        AddressGuard(allow_all=may_be_private).check(host, port, by_proxy=False)
    except ForbiddenAddress as error:
        raise BadAddress(
            f"{host} is not a public address; ALLOW_PRIVATE_ADDRESSES=on allows your own network"
        ) from error


def webhook_body(notification: Notification) -> bytes:
    """The JSON that a webhook gets."""
    return msgspec.json.encode(
        {
            "id": notification.id,
            "topic": notification.topic,
            "title": notification.title,
            "body": notification.body,
            "created_at": notification.created_at,
            "data": dict(notification.data),
        }
    )


def signed_headers(id: str, body: bytes, secret: str | None, timestamp: int) -> dict[str, str]:
    """The headers of a delivery; without a secret it is not signed."""
    headers = {"content-type": "application/json", "webhook-id": id, "webhook-timestamp": str(timestamp)}
    if secret:
        signature = hmac.new(_key_of(secret), b"%s.%d.%s" % (id.encode(), timestamp, body), sha256).digest()
        headers["webhook-signature"] = "v1," + base64.b64encode(signature).decode()
    return headers


def _key_of(secret: str) -> bytes:
    """The key of a secret. Standard Webhooks writes a key as `whsec_` and its base64."""
    if secret.startswith("whsec_"):
        with suppress(ValueError):  # binascii.Error is one
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    return secret.encode()


async def _post(url: str, body: bytes, headers: Mapping[str, str], *, may_be_private: bool) -> tuple[int, float | None]:
    import aiohttp

    from realestate.middlewares.public_addresses import AddressGuard, ForbiddenAddress, GuardedResolver

    guard = AddressGuard(allow_all=may_be_private)
    parts = urlsplit(url)
    try:
        guard.check(parts.hostname or "", parts.port, by_proxy=False)
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=GuardedResolver(guard)),
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
            ) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            return response.status, _seconds(response.headers.get("retry-after"), datetime.now(UTC))
    except ForbiddenAddress as error:
        raise RefusedForGood(str(error)) from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unreachable(without_credentials(f"{type(error).__name__}: {error}")[:300]) from error


def _seconds(retry_after: str | None, now: datetime) -> float | None:
    """What Retry-After asks for: a number of seconds, or a date."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(retry_after) - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), LONGEST_PAUSE_SECONDS)


class Channels:
    """All targets that this process can reach."""

    def __init__(
        self,
        notify_urls: Sequence[str] = (),
        *,
        webhook_secret: str | None = None,
        allow_private: bool = False,
        resolvers: Mapping[str, Resolver] | None = None,
    ) -> None:
        self._webhook_secret = webhook_secret
        self._allow_private = allow_private
        self._resolvers = dict(resolvers or {})
        self._operators = {_target_of(url): url for url in notify_urls}

    @property
    def operators(self) -> list[str]:
        """The targets of NOTIFY_URLS: who runs the fleet."""
        return list(self._operators)

    def check(self) -> None:
        """Raises BadAddress if an address of NOTIFY_URLS cannot be used."""
        for place, url in enumerate(self._operators.values(), 1):
            _operator_channel(url, self._webhook_secret, f"NOTIFY_URLS: address {place}")

    def names(self) -> dict[str, str]:
        """target -> what may be shown of it: its scheme, and the host of a webhook."""
        return {target: shown(url) for target, url in self._operators.items()}

    def channel(self, target: str) -> Channel | None:
        """The channel of a target; None if this process does not know it."""
        if url := self._operators.get(target):
            return _operator_channel(url, self._webhook_secret, "NOTIFY_URLS")
        if target.startswith(("http://", "https://")):
            return WebhookChannel(target, self._webhook_secret, may_be_private=self._allow_private)
        resolve = self._resolvers.get(target.partition(":")[0])
        return resolve(target) if resolve else None


def _target_of(url: str) -> str:
    return f"notify:{sha256(url.encode()).hexdigest()[:16]}"


def _operator_channel(url: str, secret: str | None, name: str) -> Channel:
    """apprise knows some https:// addresses, such as those of Slack; any other is a webhook."""
    import apprise

    if apprise.Apprise.instantiate(url) is not None:
        return AppriseChannel(url)
    if url.startswith(("http://", "https://")) and urlsplit(url).hostname:
        return WebhookChannel(url, secret, may_be_private=True)
    raise BadAddress(f"{name} ({shown(url)}): apprise does not understand it; docs/monitoring.md has examples")
