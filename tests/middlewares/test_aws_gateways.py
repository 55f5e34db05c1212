"""AWS gateways are created, shared by the fleet, and removed, also after a crash."""

import asyncio
import builtins
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import uuid4

import boto3
import pytest

from realestate.middlewares.proxies import Proxy
from realestate.middlewares.proxy_sources import SourceRefused, SourceUnavailable
from realestate.middlewares.proxy_sources.aws_gateways import MAX_USERS, PORTAL, SITE, STAGE, USER, AwsGateways

SITE_URL = "https://www.portal.example"
REGIONS = ("eu-central-1", "eu-west-1")

pytestmark = [
    pytest.mark.usefixtures("s3"),  # a server with Amazon's API on this machine
    pytest.mark.xdist_group("aws"),  # one process starts it
]


@pytest.fixture
def portal() -> str:
    """A name that no other test uses: all tests share the server."""
    return f"portal-{uuid4().hex[:8]}"


@pytest.fixture
def worker(portal: str) -> Callable[..., AwsGateways]:
    def make(name: str = "w1", regions: tuple[str, ...] = REGIONS[:1], site: str = SITE_URL) -> AwsGateways:
        return AwsGateways(regions, portal, site, name)

    return make


@cache
def api(region: str = REGIONS[0]) -> Any:
    return boto3.client("apigateway", region_name=region)


def existing(portal: str, region: str = REGIONS[0]) -> list[str]:
    return [each["id"] for each in api(region).get_rest_apis()["items"] if each.get("tags", {}).get(PORTAL) == portal]


def users(id: str, region: str = REGIONS[0]) -> dict[str, str]:
    tags: dict[str, str] = api(region).get_stage(restApiId=id, stageName=STAGE)["tags"]
    return {name.removeprefix(USER): until for name, until in tags.items()}


def set_tags(id: str, tags: dict[str, str]) -> None:
    arn = f"arn:aws:apigateway:{REGIONS[0]}::/restapis/{id}/stages/{STAGE}"
    api().tag_resource(resourceArn=arn, tags={USER + name: until for name, until in tags.items()})


def gateways(source: AwsGateways) -> list[Proxy]:
    return list(asyncio.run(source.proxies()))


def test_each_region_gives_one_gateway(worker: Callable[..., AwsGateways], portal: str) -> None:
    found = gateways(worker(regions=REGIONS))
    assert [proxy.gateway.url_for(f"{SITE_URL}/a?b=1") for proxy in found if proxy.gateway] == [
        f"https://{existing(portal, region)[0]}.execute-api.{region}.amazonaws.com/site/a?b=1" for region in REGIONS
    ]
    assert {proxy.url for proxy in found} == {None}
    assert len({proxy.id for proxy in found}) == len(REGIONS)


def test_a_gateway_forwards_every_path_to_the_site(worker: Callable[..., AwsGateways], portal: str) -> None:
    gateways(worker(site=f"{SITE_URL}/"))
    (id,) = existing(portal)
    resources = api().get_resources(restApiId=id)["items"]
    targets = {}
    for each in resources:
        where = {"restApiId": id, "resourceId": each["id"], "httpMethod": "ANY"}
        integration = api().get_integration(**where)
        assert api().get_method(**where)["authorizationType"] == "NONE"
        assert integration["type"] == "HTTP_PROXY"
        assert integration["requestParameters"]["integration.request.header.X-Forwarded-For"] == "'unknown'"
        targets[each["path"]] = integration["uri"]
    assert targets == {"/": f"{SITE_URL}/", "/{path+}": f"{SITE_URL}/{{path}}"}
    gateway = api().get_rest_api(restApiId=id)
    assert gateway["tags"] == {PORTAL: portal, SITE: SITE_URL}
    assert gateway["endpointConfiguration"]["types"] == ["REGIONAL"]


def test_workers_share_gateways_and_the_last_one_removes_them(worker: Callable[..., AwsGateways], portal: str) -> None:
    first, second = worker("w1", REGIONS), worker("w2", REGIONS)
    assert gateways(first) == gateways(second)
    (id,) = existing(portal)
    assert users(id).keys() == {"w1", "w2"}
    asyncio.run(first.close())
    assert existing(portal) == [id]
    assert users(id).keys() == {"w2"}
    asyncio.run(second.close())
    assert [existing(portal, region) for region in REGIONS] == [[], []]
    asyncio.run(second.close())


def test_a_worker_renews_its_tag(worker: Callable[..., AwsGateways], portal: str) -> None:
    source = worker()
    before = gateways(source)
    (id,) = existing(portal)
    until = int(users(id)["w1"])
    set_tags(id, {"w1": str(until - 600), "crashed": "1000"})
    assert gateways(source) == before
    assert users(id).keys() == {"w1"}
    assert int(users(id)["w1"]) >= until


def test_the_next_worker_removes_gateways_of_a_crashed_fleet(worker: Callable[..., AwsGateways], portal: str) -> None:
    """A worker of another portal does it too. A gateway that is created again keeps its proxy id."""
    before = gateways(worker("w1"))
    (left,) = existing(portal)
    set_tags(left, {"w1": "1000"})
    other = AwsGateways(REGIONS[:1], f"other-{portal}", SITE_URL, "w2")
    gateways(other)
    assert existing(portal) == []
    asyncio.run(other.close())
    again = worker("w3")
    assert [proxy.id for proxy in gateways(again)] == [proxy.id for proxy in before]
    assert left not in existing(portal)
    asyncio.run(again.close())


def test_an_incomplete_gateway_is_removed_only_after_some_time(
    worker: Callable[..., AwsGateways], portal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = api().create_rest_api(name="x", tags={PORTAL: portal, SITE: SITE_URL})["id"]
    source = worker()
    gateways(source)
    assert half in existing(portal)
    monkeypatch.setattr("realestate.middlewares.proxy_sources.aws_gateways.CREATING_SECONDS", -10.0)
    gateways(source)
    assert half not in existing(portal)
    asyncio.run(source.close())


def test_of_two_gateways_created_at_once_one_remains(worker: Callable[..., AwsGateways], portal: str) -> None:
    """Both workers use the older one, and the other is removed."""
    first, second = worker("w1"), worker("w2")
    gateways(first)
    region = second.regions[0]
    region._used_id = region._create(2_000_000_000)
    assert len(existing(portal)) == 2
    assert gateways(first) == gateways(second)
    chosen = first.regions[0]._used_id
    (other,) = set(existing(portal)) - {chosen}
    set_tags(other, dict.fromkeys(users(other), "1000"))
    gateways(first)
    assert existing(portal) == [chosen]


def test_gateways_of_others_are_not_touched(worker: Callable[..., AwsGateways], portal: str) -> None:
    theirs = api().create_rest_api(name=f"realestate {portal}", tags={"owner": "somebody"})["id"]
    bare = api().create_rest_api(name="bare")["id"]
    source = worker()
    gateways(source)
    asyncio.run(source.close())
    assert {theirs, bare} <= {each["id"] for each in api().get_rest_apis()["items"]}


def test_another_site_gets_another_gateway(worker: Callable[..., AwsGateways], portal: str) -> None:
    gateways(worker("w1"))
    gateways(worker("w2", site="https://new.portal.example"))
    assert len(existing(portal)) == 2


def test_a_large_fleet_does_not_fill_the_tags(worker: Callable[..., AwsGateways], portal: str) -> None:
    gateways(worker("w0"))
    (id,) = existing(portal)
    set_tags(id, {f"other{number}": "4000000000" for number in range(MAX_USERS - 1)})
    late = worker("late")
    gateways(late)
    assert len(users(id)) == MAX_USERS
    asyncio.run(late.close())
    assert existing(portal) == [id]


def test_a_failed_region_is_left_out_unless_all_fail(
    worker: Callable[..., AwsGateways], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from botocore.exceptions import ClientError

    source = worker(regions=REGIONS)

    def refuse() -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "user s3cr3t"}}, "GetRestApis")

    monkeypatch.setattr(source.regions[0], "gateway", refuse)
    assert len(gateways(source)) == 1
    assert caplog.messages[-1] == "proxy/gateway_failed: AWS responded with AccessDenied"
    monkeypatch.setattr(source.regions[1], "gateway", refuse)
    with pytest.raises(SourceUnavailable, match=r"^AWS responded with AccessDenied$"):
        gateways(source)
    assert "s3cr3t" not in caplog.text


def test_without_a_connection_to_aws_the_source_is_unavailable(
    worker: Callable[..., AwsGateways], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(
        "realestate.middlewares.proxy_sources.aws_gateways._CLIENT", {"retries": {"total_max_attempts": 1}}
    )
    with pytest.raises(SourceUnavailable, match=r"^AWS cannot be reached: EndpointConnectionError$"):
        gateways(worker())


def test_without_boto3_the_error_says_what_to_install(
    worker: Callable[..., AwsGateways], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("boto"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SourceRefused, match=r"pip install 'realestate\[aws\]'"):
        gateways(worker())
