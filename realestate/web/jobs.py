"""Jobs: submit, list, show, cancel. The same handle as `realestate submit` and `realestate jobs`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query, Request

from realestate.jobs.manage import JobConflict, JobDesk, NoSuchJobId
from realestate.jobs.order import BadOrder, order_schema, read_order
from realestate.jobs.state import JobState
from realestate.web.json_response import JsonResponse, Refusal
from realestate.web.parameters import (
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    PortalFilter,
    a_list,
    an_object,
    redis_of,
    responses,
)
from realestate.web.security import operates, reads
from realestate.web.stores import stores_of

router = APIRouter(prefix="/jobs", tags=["jobs"])

JobId = Annotated[str, Path(description="Id of a job.", max_length=200)]
_ORDER = {name: part for name, part in order_schema().items() if name != "$schema"}


@contextmanager
def desk_of(request: Request) -> Iterator[JobDesk]:
    """The handle of jobs for one request. Its errors become refusals."""
    server = redis_of(request)
    try:
        with stores_of(request).lent() as store:
            yield JobDesk(store, server, request.app.state.services.simulator)
    except NoSuchJobId as error:
        raise Refusal(404, str(error)) from error
    except JobConflict as error:
        raise Refusal(409, str(error)) from error
    except BadOrder as error:
        raise Refusal(422, str(error)) from error


@router.post(
    "",
    dependencies=[Depends(operates)],
    responses=responses(
        "The job; `is_new` is false if an order with the same key was submitted before",
        an_object(job=TEXT, portal=TEXT, seeds=NUMBER, is_new=FLAG),
        409,
        413,
    ),
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": _ORDER}}}},
)
def submit(request: Request, order: Annotated[Any, Body()]) -> JsonResponse:
    """Submit a job. It is durable when this returns."""
    if not isinstance(order, dict):
        raise Refusal(422, 'an order is a JSON object such as {"portal": "bina"}')
    with desk_of(request) as desk:
        return JsonResponse(asdict(desk.submit(read_order(order))))


@router.get("", dependencies=[Depends(reads)], responses=responses("The newest jobs", an_object(jobs=a_list(OBJECT))))
def newest(
    request: Request, portal: PortalFilter = None, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> JsonResponse:
    """The newest jobs."""
    with desk_of(request) as desk:
        return JsonResponse({"jobs": [described(each) for each in desk.newest(portal, limit)]})


@router.get("/{job}", dependencies=[Depends(reads)], responses=responses("The job", OBJECT, 404, 409))
def show(request: Request, job: JobId, portal: PortalFilter = None) -> JsonResponse:
    """One job as it is now."""
    with desk_of(request) as desk:
        return JsonResponse(described(desk.show(job, portal)))


@router.post(
    "/{job}/cancel", dependencies=[Depends(operates)], responses=responses("The cancelled job", OBJECT, 404, 409)
)
def cancel(
    request: Request,
    job: JobId,
    portal: PortalFilter = None,
    reason: Annotated[str, Query(min_length=1, max_length=200)] = "cancelled",
) -> JsonResponse:
    """Cancel a job: no request of it is sent from now on."""
    with desk_of(request) as desk:
        return JsonResponse(described(desk.cancel(job, reason, portal=portal)))


def described(state: JobState) -> dict[str, Any]:
    """The job as JSON values."""
    return {**asdict(state), "is_over": state.is_over, "done": state.done, "failed": state.failed}
