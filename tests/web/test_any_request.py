"""Requests that schemathesis makes up from the OpenAPI description: none is answered with 500, on both stores."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from realestate.storage.query import FACETS, QUERY_FIELDS, SORTS
from realestate.web import events
from realestate.web.app import openapi_of

Operation = APIOperation[Any, Any, Any, Any]
Sent = Case[Any]
#: Requests of all operations together.
MANY = 10_000
FEW = 400
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
#: A stream has no end: test_events.py reads it.
ENDLESS = "/api/v1/events/stream"

# What a schema does not know: filters that are nearly right, and what people try.
_NAMES = st.sampled_from([*QUERY_FIELDS, "text", "bbox", "polygon", "new_since", "cheaper_by", "status", "prise", ""])
_SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "~", "==", ""])
_VALUES = st.one_of(
    st.text(max_size=20),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        [
            "none",
            "yes",
            "no",
            "any",
            "7d",
            "-7d",
            "99999999999w",
            "5%",
            "1e999",
            "1e-400",
            "0x10",
            "NaN",
            "Infinity",
            "2026-11-18",
            "9999-12-31T23:59:59-23:59",
            "0001-01-01T00:00:00+23:59",
            "2026-02-30",
            '"',
            '"a\\"b"',
            "\\",
            "'; DROP TABLE listings; --",
            "%s",
            "%(a)s",
            "{}",
            "$where",
            "49,40,51,41",
            "51,41,49,40",
            "-180,-90,180,90",
            "49,40;51,40;50,41",
            "1,1;1,1;1,1",
            "0,0;1,1;0,1;1,0",
            "170,0;-170,0;180,1",
            "1,2;",
            ";" * 50,
            "," * 50,
            "a" * 300,
            "\u202e",
            "\x00",
            "\ud800".encode("utf-8", "replace").decode(),
            "ə" * 60,
            "&|!:*",
            "a:* & !b",
        ]
    ),
)
_CONDITIONS = st.builds("{}{}{}".format, _NAMES, _SIGNS, _VALUES)
_FILTERS = st.lists(_CONDITIONS, max_size=4).map(" ".join)
_BOXES = st.lists(st.floats(-200, 200).map(str), min_size=3, max_size=5).map(",".join)
#: Values of parameters that take texts, beside those that schemathesis makes up.
_WRITTEN = {
    "where": _FILTERS,
    "bbox": _BOXES,
    "sort": st.sampled_from([*SORTS, *(f"-{name}" for name in SORTS), "--price", "price desc"]),
    "fields": st.lists(st.sampled_from([*QUERY_FIELDS, *FACETS, "description", "phone"]), max_size=5).map(",".join),
    "cursor": st.binary(max_size=60).map(lambda some: some.hex()),
}


def test_no_request_is_answered_with_500(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_all(client, FEW, monkeypatch)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_none_of_ten_thousand_requests_is_answered_with_500(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sum(ask_all(client, MANY, monkeypatch).values()) >= MANY


def ask_all(client: TestClient, many: int, monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Send this many requests and check each response. Return how many there were of each status."""
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.001)
    schema = schemathesis.openapi.from_dict(openapi_of(cast(FastAPI, client.app)))
    operations = [cast(Ok[Operation], found).ok() for found in schema.get_all_operations()]
    operations = [each for each in operations if each.path != ENDLESS]
    assert len(operations) > 15
    statuses: Counter[int] = Counter()
    for operation in operations:
        ask(client, operation, math.ceil(many / len(operations)), statuses)
    assert statuses[200] > many / 20, statuses
    assert statuses[422] > many / 20, statuses
    return statuses


def ask(client: TestClient, operation: Operation, many: int, statuses: Counter[int]) -> None:
    """Half of the requests follow the schema, half violate it."""
    cases = [operation.as_strategy(GenerationMode.POSITIVE), operation.as_strategy(GenerationMode.NEGATIVE)]
    names = [each.name for each in operation.query if each.name in _WRITTEN]

    @settings(
        max_examples=many,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(cases), written=_written(names))
    def send(case: Sent, written: dict[str, str]) -> None:
        case.query = {**(case.query or {}), **written}
        if operation.path == "/api/v1/events":
            case.query.pop("wait", None)
        response = client.request(**_arguments(case))
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400:
            assert len(response.json()["error"]) > 5, response.text

    send()


def _written(names: Sequence[str]) -> st.SearchStrategy[dict[str, str]]:
    """Values for some of these parameters."""
    return st.fixed_dictionaries({}, optional={name: _WRITTEN[name] for name in names})


def _arguments(case: Sent) -> dict[str, Any]:
    """How the test's client is asked for a request of schemathesis."""
    sent = case.as_transport_kwargs(base_url="http://localhost")
    sent.pop("cookies", None)  # no operation has one
    body = sent.pop("data", None)
    return {**sent, "content": body} if body is not None else sent
