"""Exits made on demand: gateways of Amazon's API Gateway that pass on to one site whatever is asked of them.

A portal has one gateway in each region, which the whole fleet uses. Who uses it says so in a tag of its stage, with the
time until which that holds, and says it again and again. A gateway that nobody uses any more is removed: by the last
who leaves, or, after a crash, by whoever looks next. Time is Amazon's own, as its answers tell it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from realestate.middlewares.proxies import Gateway, Proxy
from realestate.middlewares.sources.following import SourceAway, SourceRefused

logger = logging.getLogger(__name__)

#: Tags of a gateway: those of any other are left alone.
PORTAL, SITE = "realestate:portal", "realestate:site"
#: A tag of its stage for each worker that uses it; the value is the second until which it does.
USER = "realestate:user:"
STAGE = "site"
#: Said again so often, and true for a few times as long: a clock need not be right, nor every call arrive.
RENEW_SECONDS, USED_SECONDS = 300.0, 1200.0
#: One without a stage is being made, or was left half-made by somebody who crashed.
MAKING_SECONDS = 600.0
#: A stage holds 50 tags. In a larger fleet the others keep it.
MOST_USERS = 45

#: The answers and addresses of the site pass as they are; a client's own address, which a gateway would tell, does not.
_PASSED = {"integration.request.header.X-Forwarded-For": "'unknown'"}
_CLIENT: dict[str, Any] = {
    "retries": {"mode": "standard", "total_max_attempts": 5},
    "connect_timeout": 5,
    "read_timeout": 20,
}


class _Made(NamedTuple):
    """A gateway of ours, as Amazon tells of it."""

    id: str
    created: float
    tags: Mapping[str, str]
    users: Mapping[str, float] | None
    """Until when each uses it; None: it has no stage yet."""

    def is_forsaken(self, now: float) -> bool:
        if self.users is None:
            return now - self.created > MAKING_SECONDS
        return all(until < now for until in self.users.values())


class Region:
    """The gateways of one region."""

    def __init__(self, name: str, portal: str, site: str, worker: str) -> None:
        self.name = name
        self.portal = portal
        self.site = site
        self.tag = USER + worker
        self._api: Any = None
        self._used: str | None = None
        #: A thread cannot be cancelled: one that still makes a gateway is waited for.
        self._one_at_a_time = Lock()

    def gateway(self) -> Gateway:
        """Ours in this region, made if it has to be; on the way, what others left behind is removed."""
        with self._one_at_a_time:
            made, now = self._listed()
            self._used = self._chosen(made, now) or self._make(now)
            self._remove([each for each in made if each.is_forsaken(now)])
        host = f"{self._used}.execute-api.{self.name}.{self._suffix()}"
        return Gateway(f"aws {self.name} {self.site}", self.site, f"https://{host}/{STAGE}")

    def leave(self) -> None:
        """The last who leaves removes it."""
        with self._one_at_a_time:
            if self._used is None:
                return
            self.api.untag_resource(resourceArn=self._arn(self._used), tagKeys=[self.tag])
            made, now = self._listed()
            self._remove([each for each in made if each.id == self._used and each.is_forsaken(now)])
            self._used = None

    @property
    def api(self) -> Any:
        if self._api is None:
            import boto3
            from botocore.config import Config

            session = boto3.session.Session()  # the common one is not made for several threads
            self._api = session.client("apigateway", region_name=self.name, config=Config(**_CLIENT))
        return self._api

    def _listed(self) -> tuple[list[_Made], float]:
        """All that are ours, of any portal, and what time it is."""
        found, now = [], 0.0
        for answer in self.api.get_paginator("get_rest_apis").paginate():
            now = _time_of(answer)
            found += [each for each in answer.get("items", ()) if each.get("tags", {}).keys() >= {PORTAL, SITE}]
        return [self._seen(each) for each in found], now

    def _seen(self, told: Mapping[str, Any]) -> _Made:
        created: datetime = told["createdDate"]
        return _Made(told["id"], created.timestamp(), told["tags"], self._users(told["id"]))

    def _users(self, id: str) -> Mapping[str, float] | None:
        try:
            tags = self.api.get_stage(restApiId=id, stageName=STAGE).get("tags", {})
        except self.api.exceptions.NotFoundException:
            return None
        return {name: _second(value) for name, value in tags.items() if name.startswith(USER)}

    def _chosen(self, made: Sequence[_Made], now: float) -> str | None:
        """The oldest that is in use: a forsaken one may be removed by another at this moment."""
        own = [each for each in made if each.tags == self._tags() and each.users and not each.is_forsaken(now)]
        if not own:
            return None
        chosen = min(own, key=lambda each: (each.created, each.id))
        self._say_so(chosen, now)
        return chosen.id

    def _say_so(self, chosen: _Made, now: float) -> None:
        users = chosen.users or {}
        past = [name for name, until in users.items() if until < now and name != self.tag]
        if past:
            self.api.untag_resource(resourceArn=self._arn(chosen.id), tagKeys=past)
        if self.tag in users or len(users) - len(past) < MOST_USERS:
            self.api.tag_resource(resourceArn=self._arn(chosen.id), tags=self._using(now))

    def _make(self, now: float) -> str:
        """Two workers may do so at once. Next time both take the older one, and the other is forsaken."""
        api = self.api
        told = {"endpointConfiguration": {"types": ["REGIONAL"]}, "binaryMediaTypes": ["*/*"], "tags": self._tags()}
        id: str = api.create_rest_api(name=f"realestate {self.portal}", **told)["id"]
        (root,) = (each["id"] for each in api.get_resources(restApiId=id)["items"] if each["path"] == "/")
        below = api.create_resource(restApiId=id, parentId=root, pathPart="{path+}")["id"]
        self._pass_on(id, root, f"{self.site}/", {})
        self._pass_on(id, below, f"{self.site}/{{path}}", {"path": "path"})
        deployment = api.create_deployment(restApiId=id)["id"]
        api.create_stage(restApiId=id, stageName=STAGE, deploymentId=deployment, tags=self._using(now))
        logger.info("proxies/aws: a gateway for %s in %s", self.portal, self.name)
        return id

    def _pass_on(self, id: str, resource: str, uri: str, paths: Mapping[str, str]) -> None:
        where = {"restApiId": id, "resourceId": resource, "httpMethod": "ANY"}
        known = {f"method.request.path.{name}": True for name in paths}
        handed = {f"integration.request.path.{name}": f"method.request.path.{name}" for name in paths}
        self.api.put_method(**where, authorizationType="NONE", requestParameters=known)
        self.api.put_integration(
            **where,
            type="HTTP_PROXY",
            integrationHttpMethod="ANY",
            uri=uri,
            requestParameters={**handed, **_PASSED},
        )

    def _remove(self, made: Sequence[_Made]) -> None:
        """As far as Amazon lets us: it takes one in half a minute. The rest has time."""
        from botocore.exceptions import ClientError

        for each in made:
            try:
                self.api.delete_rest_api(restApiId=each.id)
            except self.api.exceptions.NotFoundException:
                continue  # another was faster
            except ClientError as error:
                logger.info("proxies/aws: a gateway in %s stays for now: %s", self.name, _code(error))
                return
            logger.info("proxies/aws: a gateway for %s in %s is removed", each.tags[PORTAL], self.name)

    def _tags(self) -> dict[str, str]:
        return {PORTAL: self.portal, SITE: self.site}

    def _using(self, now: float) -> dict[str, str]:
        return {self.tag: str(int(now + USED_SECONDS))}

    def _arn(self, id: str) -> str:
        return f"arn:{self.api.meta.partition}:apigateway:{self.name}::/restapis/{id}/stages/{STAGE}"

    def _suffix(self) -> str:
        return "amazonaws.com.cn" if self.name.startswith("cn-") else "amazonaws.com"


class Gateways:
    """One exit a region."""

    name = "aws"
    seconds = RENEW_SECONDS

    def __init__(self, regions: Sequence[str], portal: str, site: str, worker: str) -> None:
        parts = urlsplit(site)
        site = f"{parts.scheme}://{parts.netloc}"
        self.regions = [Region(name, portal, site, worker) for name in regions]

    async def proxies(self) -> Sequence[Proxy]:
        """A region that fails is missing; if all do, what was known is kept."""
        tried = await asyncio.gather(*(self._called(region.gateway) for region in self.regions), return_exceptions=True)
        failed = [each for each in tried if isinstance(each, BaseException)]
        if len(failed) == len(tried):
            raise failed[0]
        for error in failed:
            logger.warning("proxies/aws: %s", error if isinstance(error, SourceAway) else type(error).__name__)
        return [Proxy(None, gateway=each) for each in tried if isinstance(each, Gateway)]

    async def close(self) -> None:
        await asyncio.gather(*(self._called(region.leave) for region in self.regions))

    async def _called(self, act: Callable[[], Any]) -> Any:
        """boto3 waits for its answers, so it does so in a thread."""
        try:
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError:
            raise SourceRefused("PROXY_AWS_REGIONS needs boto3: pip install 'realestate[aws]'") from None
        try:
            return await asyncio.to_thread(act)
        except ClientError as error:
            raise SourceAway(f"Amazon says {_code(error)}") from None
        except BotoCoreError as error:
            raise SourceAway(f"Amazon cannot be asked: {type(error).__name__}") from None


def _time_of(answer: Mapping[str, Any]) -> float:
    return parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"]).timestamp()


def _second(text: str) -> float:
    return float(text) if text.isdigit() else 0.0


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", "no"))
