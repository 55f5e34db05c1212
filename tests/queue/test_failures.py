"""The reason of a dead letter, from what went wrong."""

from typing import Any

import pytest
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from realestate.middlewares.retry import FORBIDDEN, STATUS_POLICIES, TOO_MANY_REQUESTS
from realestate.queue.dead_letters import REFUSED_STATUSES
from realestate.queue.failures import reason_of, text_of


def http_error(status: int) -> HttpError:
    return HttpError(Response("https://example.be/", status=status))


@pytest.mark.parametrize("status", [401, 403, 429, 430])
def test_a_status_that_refuses_us_is_a_ban(status: int) -> None:
    assert reason_of(http_error(status)) == "ban"
    assert text_of(http_error(status)) == f"status {status}"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (http_error(404), "http"),
        (http_error(500), "http"),
        (IgnoreRequest("offsite"), "ignored"),
        (DownloadTimeoutError("30 s"), "timeout"),
        (ConnectionResetError("by peer"), "download"),
        (None, "download"),
    ],
    ids=str,
)
def test_any_other_failure_has_its_own_reason(error: Any, reason: str) -> None:
    assert reason_of(error) == reason


def test_the_retries_and_the_dead_letters_agree_which_statuses_refuse_us() -> None:
    refusing = {status for status, policy in STATUS_POLICIES.items() if policy in (FORBIDDEN, TOO_MANY_REQUESTS)}
    assert refusing == REFUSED_STATUSES
