"""Runs a timetable. Any number of processes may run the same one: there is no leader.

For each occurrence, one decision is stored: the first that anybody makes. Then it is acted on. A job's id is made of
its entry and its time, and one script of Redis both claims it and pushes its seeds; so each occurrence starts one job,
whoever acts, and also if a process is killed at any point and another one acts again.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Thread

from realestate.jobs.manage import JobConflict, JobDesk
from realestate.jobs.order import BadOrder, job_id_of
from realestate.jobs.state import NoSuchJobId
from realestate.jobs.timetable.entries import Entry
from realestate.storage.occurrences import Occurrence

logger = logging.getLogger(__name__)

#: An occurrence that is found this long after its time is late: no process ran.
LATE = timedelta(seconds=60)
#: A task takes at most this long; then another process may do it.
TASK_SECONDS = 6 * 3600.0
#: Occurrences that were missed beyond these are not recorded one by one.
MISSED_MOST = 10_000
MISSED = "missed: no timetable process was running"
OVERLAP = "the job {job} of the last occurrence has not ended"

RunTask = Callable[[Entry], str | None]
"""Does the task of an entry. Returns what went wrong, or None. Called in a thread of its own."""


class _Task(Thread):
    """A task that runs. Jobs are started meanwhile: a backup may take an hour. A daemon: it keeps no process alive."""

    def __init__(self, entry: Entry, occurrence: Occurrence, run: RunTask) -> None:
        super().__init__(name=f"task {entry.name}", daemon=True)
        self.occurrence = occurrence
        self.error: str | None = None
        self._entry = entry
        self._run = run

    def run(self) -> None:
        try:
            self.error = self._run(self._entry)
        except Exception as error:  # it must be recorded: otherwise the task would be done again
            logger.exception("timetable/failed entry=%s", self._entry.name)
            self.error = f"{type(error).__name__}: {error}"


class Runner:
    """One timetable process. `tick` is called again and again, and may be called at any time."""

    def __init__(self, desk: JobDesk, run_task: RunTask) -> None:
        self.desk = desk
        self.run_task = run_task
        self._last: Mapping[str, datetime] | None = None
        """The time of the last occurrence of each entry about which a decision was made."""
        self._tasks: dict[str, _Task] = {}
        """Entry -> its task that runs here."""

    def tick(self, entries: Sequence[Entry], now: datetime) -> None:
        """Decide about what has become due, and do what was decided and not done."""
        self._record_ended_tasks()
        if self._last is None:
            self._last = dict(self.desk.store.last_occurrences())
        known = dict(self._last)
        is_news = False
        for entry in entries:
            if decisions := self._decisions(entry, known.get(entry.name), now):
                self.desk.store.add_occurrences(decisions)
                known[entry.name] = decisions[-1].due_at
                is_news = True
        self._last = known
        by_name = {entry.name: entry for entry in entries}
        if is_news or self._has_undone:
            self._act(by_name, now)

    _has_undone = True
    """Whether there may be occurrences that were decided and not done: those of a process that died."""

    def look_again(self) -> None:
        """At the next tick, look for what processes that died have left behind."""
        self._has_undone = True

    def _decisions(self, entry: Entry, last: datetime | None, now: datetime) -> list[Occurrence]:
        if last is None:
            return [Occurrence(entry=entry.name, due_at=now, decision="begins")]
        due: list[datetime] = []
        for each in entry.due_after(last):
            if entry.starts_at(each) > now:
                break
            due.append(each)
        if len(due) > MISSED_MOST:
            logger.warning("timetable/missed entry=%s count=%d: only the newest are recorded", entry.name, len(due))
        due = due[-MISSED_MOST:]
        late = [each for each in due if now - entry.starts_at(each) > LATE]
        skipped = set(late)
        if entry.catch_up == "all":
            skipped = set()
        elif entry.catch_up == "latest" and late and late[-1] == due[-1]:
            skipped.discard(late[-1])
        return [
            Occurrence(entry=entry.name, due_at=each, decision="skipped", reason=MISSED)
            if each in skipped
            else self._started(entry, each, now)
            for each in due
        ]

    def _started(self, entry: Entry, due: datetime, now: datetime) -> Occurrence:
        """The decision about an occurrence that is to be started, unless the last one stands in its way."""
        started = Occurrence(entry=entry.name, due_at=due, decision="start")
        if entry.overlap == "skip" and (running := self._running(entry, due)) is not None:
            return replace(started, decision="skipped", reason=OVERLAP.format(job=running))
        seconds = (now - entry.starts_at(due)).total_seconds()
        return replace(started, reason=f"{seconds:.0f} s late") if seconds > LATE.total_seconds() else started

    def _running(self, entry: Entry, due: datetime) -> str | None:
        """The job of the entry's last occurrence before this one, if it has not ended."""
        if entry.order is None:
            return None
        for before in self.desk.store.occurrences(entry.name, 1, before=due):
            try:
                state = self.desk.show(before.job or job_id_of(key_of(entry.name, before.due_at)))
                return None if state.is_over else state.job
            except NoSuchJobId:
                return None
        return None

    def _act(self, entries: Mapping[str, Entry], now: datetime) -> None:
        undone = self.desk.store.occurrences(limit=MISSED_MOST, undone=True)
        self._has_undone = False
        for occurrence in reversed(undone):
            entry = entries.get(occurrence.entry)
            if entry is None:
                error = "the timetable has no such entry any more"
                self.desk.store.occurrence_done(occurrence.entry, occurrence.due_at, error=error)
            elif entry.order is not None:
                self._submit(entry, occurrence)
            else:
                self._run(entry, occurrence)

    def _submit(self, entry: Entry, occurrence: Occurrence) -> None:
        assert entry.order is not None
        if entry.overlap == "replace" and (running := self._running(entry, occurrence.due_at)):
            self._replace(running, occurrence)
        try:
            job = self.desk.submit(replace(entry.order, key=key_of(entry.name, occurrence.due_at))).job
        except (BadOrder, JobConflict) as error:
            logger.error("timetable/failed entry=%s due=%s: %s", entry.name, occurrence.due_at, error)
            self.desk.store.occurrence_done(entry.name, occurrence.due_at, error=str(error))
            return
        self.desk.store.occurrence_done(entry.name, occurrence.due_at, job=job)
        logger.info("timetable/started entry=%s due=%s job=%s", entry.name, occurrence.due_at, job)

    def _replace(self, running: str, occurrence: Occurrence) -> None:
        try:
            self.desk.cancel(running, f"replaced by the occurrence of {occurrence.due_at:%Y-%m-%d %H:%M} UTC")
        except (JobConflict, NoSuchJobId):  # it has ended meanwhile
            logger.debug("timetable/ended entry=%s job=%s", occurrence.entry, running)

    def _run(self, entry: Entry, occurrence: Occurrence) -> None:
        """Start the task, unless another process does it. Tasks of one entry run one after the other."""
        if entry.name in self._tasks:
            return
        if self.desk.store.claim_occurrence(entry.name, occurrence.due_at, TASK_SECONDS):
            self._tasks[entry.name] = _Task(entry, occurrence, self.run_task)
            self._tasks[entry.name].start()

    def _record_ended_tasks(self) -> None:
        for name, task in list(self._tasks.items()):
            if task.is_alive():
                continue
            due = task.occurrence.due_at
            self.desk.store.occurrence_done(name, due, error=task.error)
            del self._tasks[name]
            self._has_undone = True  # its next occurrence may have waited for it
            if task.error:
                logger.error("timetable/failed entry=%s due=%s: %s", name, due, task.error)
            else:
                logger.info("timetable/done entry=%s due=%s", name, due)


def key_of(entry: str, due: datetime) -> str:
    """The key of an occurrence's job."""
    return f"timetable:{entry}:{due:%Y-%m-%dT%H:%M:%S}Z"
