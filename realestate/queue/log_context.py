"""Which portal a log line belongs to, if the line does not say it itself."""

from collections.abc import Mapping
from contextvars import ContextVar

#: The portal of the running task. Tasks pass it on to the tasks that they start.
PORTAL: ContextVar[str] = ContextVar("portal", default="")
#: Pass it as `extra` with a line that is about the whole process, whichever portal's task writes it.
WHOLE_PROCESS: Mapping[str, str] = {"portal": ""}
