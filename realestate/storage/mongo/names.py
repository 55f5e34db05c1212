"""The `_id`s of jobs and of their parts."""

import msgspec


def job_name(portal: str, job: str) -> str:
    """Return the `_id` of a job. A portal's name has no colon, so the first colon ends it."""
    return f"{portal}:{job}"


def part_name(portal: str, job: str, search: str) -> str:
    """Return the `_id` of a part. It is JSON, because a job's name may contain any character."""
    return msgspec.json.encode([portal, job, search]).decode()
