"""The API: `/api/v1`. Its routes ask the same store and the same jobs as the commands."""

from fastapi import APIRouter

from realestate.web import events, fleet, homes, jobs, listings

router = APIRouter(prefix="/api/v1")
for part in (listings, homes, events, jobs, fleet):
    router.include_router(part.router)
