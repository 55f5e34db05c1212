"""Says once per process that a server is away, and once that it is back, however many tasks wait for it."""

import logging
import time
from collections.abc import Callable

from realestate.queue.log_context import WHOLE_PROCESS

logger = logging.getLogger(__name__)

#: After a server is back, connections from before may still break once. In this time, one failure is no new outage.
SETTLE_SECONDS = 5.0
#: A server that replies to some calls and refuses others is available again if it refused none for so long. Longer than
#: the longest delay between two tries of a call.
REFUSAL_SECONDS = 10.0


class Outage:
    """Whether one server is away, as this process sees it. It is used by one thread only."""

    def __init__(self, server: str, away: str, back: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`away` and `back` are the first words of the two log lines."""
        self.server = server
        self.away = away
        self.back = back
        self.clock = clock
        self._since: float | None = None
        self._ended_at: float | None = None
        self._failed_at: float | None = None
        """The first failure after the last success."""
        self._failures = 0
        self._last_failed_at = 0.0
        self._refuses = False
        """Whether it replied to the last call that failed: it is out of memory, or a replica."""

    @property
    def is_away(self) -> bool:
        return self._since is not None

    def failed(
        self, what: str, error: BaseException | str, failures: int | None = None, *, is_refused: bool = False
    ) -> None:
        """A call failed because the server is away. `failures` is how often the same call has failed in a row, None if
        it is not repeated at once. `is_refused`: the server replied, with an error that passes by itself.

        One failure of a call that is repeated is no outage: connections that were idle during a restart of the server,
        or that something between closed, break at their next use, also hours later. The next try opens a new one."""
        self._failures += 1
        self._refuses = is_refused
        self._last_failed_at = now = self.clock()
        if self._failed_at is None:
            self._failed_at = now
        if self._since is not None or failures == 1:
            return
        if failures is None and self._ended_at is not None and now - self._ended_at < SETTLE_SECONDS:
            return
        self._since = self._failed_at
        logger.warning(
            "%s: %s is not available while %s: %s; trying again",
            self.away,
            self.server,
            what,
            error,
            extra=WHOLE_PROCESS,
        )

    def succeeded(self, asked_at: float, failures: int = 0) -> None:
        """A call succeeded that began at this time of the clock, after this many failures. Calls from before the outage
        say nothing. Where the server refuses some calls, those that it never refused say nothing either."""
        if self._failed_at is None or asked_at < self._failed_at:
            return
        if self._refuses and not failures and self.clock() - self._last_failed_at < REFUSAL_SECONDS:
            return
        since, failures = self._since, self._failures
        self._since = self._failed_at = None
        self._failures = 0
        if since is None:
            return
        self._ended_at = now = self.clock()
        logger.warning(
            "%s: %s is available again after %.1f s; %d calls failed",
            self.back,
            self.server,
            now - since,
            failures,
            extra=WHOLE_PROCESS,
        )


#: All portals of a process use the same two servers.
REDIS = Outage("Redis", "queue/redis_away", "queue/redis_back")
STORE = Outage("the database", "store/unavailable", "store/available")
