"""The errors of a store."""


class StoreError(RuntimeError):
    """The store cannot be used as configured. The message is shown to the user."""


class StoreAway(StoreError):
    """The database is not available. The same call may succeed later."""


def too_new(version: int, wanted: int) -> StoreError:
    return StoreError(
        f"the database has schema {version}, and this version of realestate knows only {wanted}: update realestate"
    )


class NoSuchJob(StoreError):
    """The portal has no job of this name."""

    def __init__(self, job: str, portal: str) -> None:
        super().__init__(f"{portal} has no job {job!r}; `realestate jobs list` shows the jobs")
