"""Gateways are made, shared by the fleet, and removed: by the last who leaves, or by whoever comes after a crash."""

import asyncio
import builtins
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import boto3
import pytest

from realestate.middlewares.proxies import Proxy
from realestate.middlewares.sources import SourceAway, SourceRefused
from realestate.middlewares.sources.gateways import MOST_USERS, PORTAL, SITE, STAGE, USER, Gateways

SITE_URL = "https://www.portal.example"
REGIONS = ("eu-central-1", "eu-west-1")

pytestmark = pytest.mark.usefixtures("s3")  # Amazon's interfaces on this machine


@pytest.fixture
def portal() -> str:
    """One of the test's own: the server outlives a test."""
    return f"portal-{uuid4().hex[:8]}"


@pytest.fixture
def worker(portal: str) -> Callable[..., Gateways]:
    def make(name: str = "w1", regions: tuple[str, ...] = REGIONS[:1], site: str = SITE_URL) -> Gateways:
        return Gateways(regions, portal, site, name)

    return make


def api(region: str = REGIONS[0]) -> Any:
    return boto3.client("apigateway", region_name=region)


def made(portal: str, region: str = REGIONS[0]) -> list[str]:
    return [each["id"] for each in api(region).get_rest_apis()["items"] if each.get("tags", {}).get(PORTAL) == portal]


def users(id: str, region: str = REGIONS[0]) -> dict[str, str]:
    tags: dict[str, str] = api(region).get_stage(restApiId=id, stageName=STAGE)["tags"]
    return {name.removeprefix(USER): until for name, until in tags.items()}


def say(id: str, tags: dict[str, str]) -> None:
    arn = f"arn:aws:apigateway:{REGIONS[0]}::/restapis/{id}/stages/{STAGE}"
    api().tag_resource(resourceArn=arn, tags={USER + name: until for name, until in tags.items()})


def exits(source: Gateways) -> list[Proxy]:
    return list(asyncio.run(source.proxies()))


def test_one_exit_a_region(worker: Callable[..., Gateways], portal: str) -> None:
    found = exits(worker(regions=REGIONS))
    assert [proxy.gateway.entered(f"{SITE_URL}/a?b=1") for proxy in found if proxy.gateway] == [
        f"https://{made(portal, region)[0]}.execute-api.{region}.amazonaws.com/site/a?b=1" for region in REGIONS
    ]
    assert {proxy.url for proxy in found} == {None}
    assert len({proxy.id for proxy in found}) == len(REGIONS)


def test_it_passes_on_to_the_site_whatever_is_asked(worker: Callable[..., Gateways], portal: str) -> None:
    exits(worker(site=f"{SITE_URL}/"))
    (id,) = made(portal)
    resources = api().get_resources(restApiId=id)["items"]
    told = {}
    for each in resources:
        where = {"restApiId": id, "resourceId": each["id"], "httpMethod": "ANY"}
        integration = api().get_integration(**where)
        assert api().get_method(**where)["authorizationType"] == "NONE"
        assert integration["type"] == "HTTP_PROXY"
        assert integration["requestParameters"]["integration.request.header.X-Forwarded-For"] == "'unknown'"
        told[each["path"]] = integration["uri"]
    assert told == {"/": f"{SITE_URL}/", "/{path+}": f"{SITE_URL}/{{path}}"}
    gateway = api().get_rest_api(restApiId=id)
    assert gateway["tags"] == {PORTAL: portal, SITE: SITE_URL}
    assert gateway["endpointConfiguration"]["types"] == ["REGIONAL"]


def test_a_fleet_shares_them_and_the_last_who_leaves_removes_them(worker: Callable[..., Gateways], portal: str) -> None:
    first, second = worker("w1", REGIONS), worker("w2", REGIONS)
    assert exits(first) == exits(second)
    (id,) = made(portal)
    assert users(id).keys() == {"w1", "w2"}
    asyncio.run(first.close())
    assert made(portal) == [id]
    assert users(id).keys() == {"w2"}
    asyncio.run(second.close())
    assert [made(portal, region) for region in REGIONS] == [[], []]
    asyncio.run(second.close())


def test_who_uses_it_says_so_again(worker: Callable[..., Gateways], portal: str) -> None:
    source = worker()
    before = exits(source)
    (id,) = made(portal)
    until = int(users(id)["w1"])
    say(id, {"w1": str(until - 600), "crashed": "1000"})
    assert exits(source) == before
    assert users(id).keys() == {"w1"}
    assert int(users(id)["w1"]) >= until


def test_what_a_crashed_fleet_left_is_swept_by_who_comes_next(worker: Callable[..., Gateways], portal: str) -> None:
    """Also by a worker of another portal; and the exit stays the same although it is made anew."""
    before = exits(worker("w1"))
    (left,) = made(portal)
    say(left, {"w1": "1000"})
    other = Gateways(REGIONS[:1], f"other-{portal}", SITE_URL, "w2")
    exits(other)
    assert made(portal) == []
    asyncio.run(other.close())
    again = worker("w3")
    assert [proxy.id for proxy in exits(again)] == [proxy.id for proxy in before]
    assert left not in made(portal)
    asyncio.run(again.close())


def test_one_that_was_made_half_is_left_alone_until_its_maker_is_certainly_gone(
    worker: Callable[..., Gateways], portal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = api().create_rest_api(name="x", tags={PORTAL: portal, SITE: SITE_URL})["id"]
    source = worker()
    exits(source)
    assert half in made(portal)
    monkeypatch.setattr("realestate.middlewares.sources.gateways.MAKING_SECONDS", -10.0)
    exits(source)
    assert half not in made(portal)
    asyncio.run(source.close())


def test_two_made_at_once_become_one(worker: Callable[..., Gateways], portal: str) -> None:
    """Both workers take the same, and nobody uses the other any more."""
    first, second = worker("w1"), worker("w2")
    exits(first)
    region = second.regions[0]
    region._used = region._make(2_000_000_000)
    assert len(made(portal)) == 2
    assert exits(first) == exits(second)
    chosen = first.regions[0]._used
    (other,) = set(made(portal)) - {chosen}
    say(other, dict.fromkeys(users(other), "1000"))
    exits(first)
    assert made(portal) == [chosen]


def test_what_is_not_ours_is_left_alone(worker: Callable[..., Gateways], portal: str) -> None:
    theirs = api().create_rest_api(name=f"realestate {portal}", tags={"owner": "somebody"})["id"]
    bare = api().create_rest_api(name="bare")["id"]
    source = worker()
    exits(source)
    asyncio.run(source.close())
    assert {theirs, bare} <= {each["id"] for each in api().get_rest_apis()["items"]}


def test_another_address_of_the_site_is_another_gateway(worker: Callable[..., Gateways], portal: str) -> None:
    exits(worker("w1"))
    exits(worker("w2", site="https://new.portal.example"))
    assert len(made(portal)) == 2


def test_a_large_fleet_does_not_fill_the_tags(worker: Callable[..., Gateways], portal: str) -> None:
    exits(worker("w0"))
    (id,) = made(portal)
    say(id, {f"other{number}": "4000000000" for number in range(MOST_USERS - 1)})
    late = worker("late")
    exits(late)
    assert len(users(id)) == MOST_USERS
    asyncio.run(late.close())
    assert made(portal) == [id]


def test_a_region_that_fails_is_missing_and_all_together_are_away(
    worker: Callable[..., Gateways], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from botocore.exceptions import ClientError

    source = worker(regions=REGIONS)

    def refuse() -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "user s3cr3t"}}, "GetRestApis")

    monkeypatch.setattr(source.regions[0], "gateway", refuse)
    assert len(exits(source)) == 1
    assert caplog.messages[-1] == "proxies/aws: Amazon says AccessDenied"
    monkeypatch.setattr(source.regions[1], "gateway", refuse)
    with pytest.raises(SourceAway, match=r"^Amazon says AccessDenied$"):
        exits(source)
    assert "s3cr3t" not in caplog.text


def test_amazon_that_cannot_be_asked_is_away(worker: Callable[..., Gateways], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("realestate.middlewares.sources.gateways._CLIENT", {"retries": {"total_max_attempts": 1}})
    with pytest.raises(SourceAway, match=r"^Amazon cannot be asked: EndpointConnectionError$"):
        exits(worker())


def test_without_boto3_it_says_what_to_install(
    worker: Callable[..., Gateways], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("boto"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SourceRefused, match=r"pip install 'realestate\[aws\]'"):
        exits(worker())
