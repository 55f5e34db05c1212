"""Creates gateways in Amazon's API Gateway, each of which forwards all requests to one site.

A portal has one gateway in each region, which the whole fleet uses. Each worker that uses a gateway sets a tag on its
stage with the time until which it does, and renews the tag regularly. A gateway without current users is removed: by
the last worker that stops or, after a crash, by the next worker that lists the gateways. All times are Amazon's, from
the Date header of its responses.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from realestate.middlewares.proxies import Gateway, Proxy
from realestate.middlewares.proxy_sources.refresh import SourceRefused, SourceUnavailable

logger = logging.getLogger(__name__)

#: Tags of our gateways. Gateways without them are not touched.
PORTAL = "realestate:portal"
SITE = "realestate:site"
#: The stage has a tag with this prefix for each worker that uses it; its value is the time until which it does, in
#: seconds.
USER = "realestate:user:"
STAGE = "site"
#: How often a worker renews its tag.
RENEW_SECONDS = 300.0
#: How long a tag is valid: several renewals, because a call may fail.
USED_SECONDS = 1200.0
#: A gateway without a stage is being created; if it is older than this, its worker has crashed.
CREATING_SECONDS = 600.0
#: A stage can have 50 tags. In a larger fleet the other workers use the gateway without a tag.
MAX_USERS = 45

#: A gateway would add our own address to the request. This replaces it.
_HIDE_OUR_ADDRESS = {"integration.request.header.X-Forwarded-For": "'unknown'"}
_CLIENT: dict[str, Any] = {
    "retries": {"mode": "standard", "total_max_attempts": 5},
    "connect_timeout": 5,
    "read_timeout": 20,
}


class _GatewayState(NamedTuple):
    """One of our gateways, as Amazon lists it."""

    id: str
    created: float
    tags: Mapping[str, str]
    users: Mapping[str, float] | None
    """Each user's tag, and the time until which it uses the gateway; None if there is no stage yet."""

    def is_unused(self, now: float) -> bool:
        if self.users is None:
            return now - self.created > CREATING_SECONDS
        return all(until < now for until in self.users.values())


#: A session is not safe for several threads, its clients are.
_SESSION_LOCK = Lock()


@cache
def _session() -> Any:
    """Made once: loading the description of Amazon's API is slow."""
    import boto3

    return boto3.session.Session()


def _client(region: str) -> Any:
    from botocore.config import Config

    with _SESSION_LOCK:
        return _session().client("apigateway", region_name=region, config=Config(**_CLIENT))


class Region:
    """The gateways of one region."""

    def __init__(self, name: str, portal: str, site: str, worker: str) -> None:
        self.name = name
        self.portal = portal
        self.site = site
        self.tag = USER + worker
        self._api: Any = None
        self._used_id: str | None = None
        #: A thread cannot be cancelled. `leave` waits for one that still creates a gateway.
        self._lock = Lock()

    def gateway(self) -> Gateway:
        """The portal's gateway in this region; creates it if necessary. Also removes unused gateways."""
        with self._lock:
            gateways, now = self._list()
            self._used_id = self._join(gateways, now) or self._create(now)
            self._remove([each for each in gateways if each.is_unused(now)])
        host = f"{self._used_id}.execute-api.{self.name}.{self._suffix()}"
        return Gateway(f"aws {self.name} {self.site}", self.site, f"https://{host}/{STAGE}")

    def leave(self) -> None:
        """Stop using the gateway, and remove it if nobody else uses it."""
        with self._lock:
            if self._used_id is None:
                return
            self.api.untag_resource(resourceArn=self._arn(self._used_id), tagKeys=[self.tag])
            gateways, now = self._list()
            self._remove([each for each in gateways if each.id == self._used_id and each.is_unused(now)])
            self._used_id = None

    @property
    def api(self) -> Any:
        if self._api is None:
            self._api = _client(self.name)
        return self._api

    def _list(self) -> tuple[list[_GatewayState], float]:
        """Our gateways of all portals, and Amazon's time."""
        found = []
        now = 0.0
        for page in self.api.get_paginator("get_rest_apis").paginate():
            now = _time_of(page)
            found += [each for each in page.get("items", ()) if each.get("tags", {}).keys() >= {PORTAL, SITE}]
        return [self._state(each) for each in found], now

    def _state(self, item: Mapping[str, Any]) -> _GatewayState:
        created: datetime = item["createdDate"]
        return _GatewayState(item["id"], created.timestamp(), item["tags"], self._users(item["id"]))

    def _users(self, id: str) -> Mapping[str, float] | None:
        try:
            tags = self.api.get_stage(restApiId=id, stageName=STAGE).get("tags", {})
        except self.api.exceptions.NotFoundException:
            return None
        return {name: _seconds(value) for name, value in tags.items() if name.startswith(USER)}

    def _join(self, gateways: Sequence[_GatewayState], now: float) -> str | None:
        """Use the portal's oldest gateway that is in use; another worker may be removing an unused one now.

        Returns its id, or None if there is none.
        """
        own = [each for each in gateways if each.tags == self._tags() and each.users and not each.is_unused(now)]
        if not own:
            return None
        oldest = min(own, key=lambda each: (each.created, each.id))
        self._renew(oldest, now)
        return oldest.id

    def _renew(self, gateway: _GatewayState, now: float) -> None:
        """Set this worker's tag, and remove the tags that have expired."""
        users = gateway.users or {}
        expired = [name for name, until in users.items() if until < now and name != self.tag]
        if expired:
            self.api.untag_resource(resourceArn=self._arn(gateway.id), tagKeys=expired)
        if self.tag in users or len(users) - len(expired) < MAX_USERS:
            self.api.tag_resource(resourceArn=self._arn(gateway.id), tags=self._user_tag(now))

    def _create(self, now: float) -> str:
        """Two workers may create one at the same time. Next time both join the older, and the other becomes unused."""
        api = self.api
        options = {"endpointConfiguration": {"types": ["REGIONAL"]}, "binaryMediaTypes": ["*/*"], "tags": self._tags()}
        id: str = api.create_rest_api(name=f"realestate {self.portal}", **options)["id"]
        (root,) = (each["id"] for each in api.get_resources(restApiId=id)["items"] if each["path"] == "/")
        below = api.create_resource(restApiId=id, parentId=root, pathPart="{path+}")["id"]
        self._forward(id, root, f"{self.site}/", {})
        self._forward(id, below, f"{self.site}/{{path}}", {"path": "path"})
        deployment = api.create_deployment(restApiId=id)["id"]
        api.create_stage(restApiId=id, stageName=STAGE, deploymentId=deployment, tags=self._user_tag(now))
        logger.info("proxy/gateway_created: portal=%s region=%s", self.portal, self.name)
        return id

    def _forward(self, id: str, resource: str, uri: str, paths: Mapping[str, str]) -> None:
        where = {"restApiId": id, "resourceId": resource, "httpMethod": "ANY"}
        declared = {f"method.request.path.{name}": True for name in paths}
        forwarded = {f"integration.request.path.{name}": f"method.request.path.{name}" for name in paths}
        self.api.put_method(**where, authorizationType="NONE", requestParameters=declared)
        self.api.put_integration(
            **where,
            type="HTTP_PROXY",
            integrationHttpMethod="ANY",
            uri=uri,
            requestParameters={**forwarded, **_HIDE_OUR_ADDRESS},
        )

    def _remove(self, gateways: Sequence[_GatewayState]) -> None:
        """Amazon allows one deletion in half a minute. The others are removed at a later call."""
        from botocore.exceptions import ClientError

        for each in gateways:
            try:
                self.api.delete_rest_api(restApiId=each.id)
            except self.api.exceptions.NotFoundException:
                continue  # another worker has removed it
            except ClientError as error:
                logger.info("proxy/gateway_not_removed: region=%s: %s", self.name, _error_code(error))
                return
            logger.info("proxy/gateway_removed: portal=%s region=%s", each.tags[PORTAL], self.name)

    def _tags(self) -> dict[str, str]:
        return {PORTAL: self.portal, SITE: self.site}

    def _user_tag(self, now: float) -> dict[str, str]:
        return {self.tag: str(int(now + USED_SECONDS))}

    def _arn(self, id: str) -> str:
        return f"arn:{self.api.meta.partition}:apigateway:{self.name}::/restapis/{id}/stages/{STAGE}"

    def _suffix(self) -> str:
        return "amazonaws.com.cn" if self.name.startswith("cn-") else "amazonaws.com"


class AwsGateways:
    """Gives one gateway for each region."""

    name = "aws"
    seconds = RENEW_SECONDS

    def __init__(self, regions: Sequence[str], portal: str, site: str, worker: str) -> None:
        parts = urlsplit(site)
        site = f"{parts.scheme}://{parts.netloc}"
        self.regions = [Region(name, portal, site, worker) for name in regions]

    async def proxies(self) -> Sequence[Proxy]:
        """The gateways of the regions that work; raises the first error if no region works."""
        calls = (self._in_thread(region.gateway) for region in self.regions)
        results = await asyncio.gather(*calls, return_exceptions=True)
        errors = [each for each in results if isinstance(each, BaseException)]
        if len(errors) == len(results):
            raise errors[0]
        for error in errors:
            text = str(error) if isinstance(error, SourceUnavailable) else type(error).__name__
            logger.warning("proxy/gateway_failed: %s", text)
        return [Proxy(None, gateway=each) for each in results if isinstance(each, Gateway)]

    async def close(self) -> None:
        await asyncio.gather(*(self._in_thread(region.leave) for region in self.regions))

    async def _in_thread(self, call: Callable[[], Any]) -> Any:
        """boto3 blocks, so it runs in a thread."""
        try:
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError:
            raise SourceRefused("PROXY_AWS_REGIONS needs boto3: pip install 'realestate[aws]'") from None
        try:
            return await asyncio.to_thread(call)
        except ClientError as error:
            raise SourceUnavailable(f"AWS responded with {_error_code(error)}") from None
        except BotoCoreError as error:
            raise SourceUnavailable(f"AWS cannot be reached: {type(error).__name__}") from None


def _time_of(response: Mapping[str, Any]) -> float:
    return parsedate_to_datetime(response["ResponseMetadata"]["HTTPHeaders"]["date"]).timestamp()


def _seconds(text: str) -> float:
    return float(text) if text.isdigit() else 0.0


def _error_code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", "unknown error"))
