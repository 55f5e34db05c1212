"""The server for language models: what its tools return, and what they refuse."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from realestate.storage import FullStore, StoreAway, open_store
from realestate.web.mcp import mcp_server
from realestate.web.stores import Stores
from tests.web.conftest import LISTINGS

Ask = Callable[[str, dict[str, Any]], CallToolResult]


@pytest.fixture
def ask(filled: FullStore, any_url: str) -> Iterator[Ask]:
    """Call one tool."""
    stores = Stores(lambda: open_store(any_url))

    async def call(name: str, arguments: dict[str, Any]) -> CallToolResult:
        async with Client(mcp_server(stores)) as client:
            return await client.call_tool(name, arguments)

    yield lambda name, arguments: asyncio.run(call(name, arguments))
    stores.close()


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def value(result: CallToolResult) -> Any:
    assert not result.is_error, text_of(result)
    return json.loads(text_of(result))


def test_the_tools_read_and_say_so(filled: FullStore) -> None:
    async def listed() -> Any:
        async with Client(mcp_server(Stores(lambda: filled))) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(listed())
    assert [each.name for each in tools] == [
        "search_listings",
        "count_listings",
        "values",
        "show_listing",
        "list_events",
    ]
    for each in tools:
        assert each.description, each.name
        assert each.annotations.read_only_hint, each.name


def test_pages_counts_and_values(ask: Ask) -> None:
    found: list[str] = []
    cursor = None
    while True:
        arguments = {"where": "status=any", "sort": "-price", "limit": 20, "cursor": cursor, "fields": ["ref"]}
        page = value(ask("search_listings", arguments))
        found += [row["ref"] for row in page["listings"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(found, key=int) == [str(number) for number in range(LISTINGS)]
    assert value(ask("count_listings", {"where": "status=any"}))["number"] == LISTINGS
    (facet,) = value(ask("values", {"where": "status=any", "fields": ["portal"]}))
    assert facet["values"] == [{"value": "bina", "count": LISTINGS}]


def test_one_listing_and_the_events(ask: Ask) -> None:
    found = value(ask("show_listing", {"portal": "bina", "ref": "1"}))
    assert found["listing"]["ref"] == "1"
    assert found["events"][0]["type"] == "listed"
    events = value(ask("list_events", {"limit": 2}))
    assert [each["number"] for each in events["events"]] == [1, 2]
    assert value(ask("list_events", {"after": 10**6})) == {"events": [], "last": 10**6}


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("search_listings", {"where": "prise<3"}, "did you mean 'price'?"),
        ("search_listings", {"where": "'; DROP TABLE listings"}, "filter, character 1"),
        ("search_listings", {"where": "ref=\0"}, "NUL"),
        ("search_listings", {"sort": "title"}, "sort is one of"),
        ("search_listings", {"cursor": "abc"}, "the cursor is not one"),
        ("search_listings", {"limit": 1000}, "less than or equal to 100"),
        ("search_listings", {"fields": ["phone"]}, "no field 'phone'"),
        ("values", {"fields": ["title"]}, "are not counted"),
        ("show_listing", {"portal": "bina", "ref": "nobody"}, "there is no listing bina/nobody"),
        ("show_listing", {"portal": "bina", "ref": "\0"}, "NUL"),
        ("show_listing", {"portal": "../etc", "ref": "1"}, "match pattern"),
        ("list_events", {"after": -1}, "greater than or equal to 0"),
    ],
)
def test_a_wrong_question_gets_a_sentence(ask: Ask, tool: str, arguments: dict[str, Any], sentence: str) -> None:
    result = ask(tool, arguments)
    assert result.is_error
    assert sentence in text_of(result)


def test_a_store_that_is_away_is_said_without_its_address(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise StoreAway("the secret address 10.0.0.1")

    monkeypatch.setattr(Stores, "ask", away)
    result = ask("count_listings", {})
    assert result.is_error
    assert text_of(result).endswith("the store does not respond; try again later")


def test_the_command_speaks_on_its_standard_output(store_url: str, redis_url: str, tmp_path: Path) -> None:
    store = open_store(store_url)
    store.migrate()
    store.close()
    environment = {**os.environ, "STORE_URL": store_url, "REDIS_URL": redis_url}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "realestate", "mcp"], env=environment, cwd=tmp_path
    )

    async def count() -> Any:
        async with Client(command) as client:
            assert client.server_info
            return client.server_info.name, value(await client.call_tool("count_listings", {}))

    name, found = asyncio.run(count())
    assert name == "realestate"
    assert found["text"] == "0"
