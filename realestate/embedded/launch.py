"""The step between a parent and its child: tie the child to the parent's life, then become the command.

Runs as a script of its own, not as a ``preexec_fn``: Python code between fork and exec may deadlock
where the parent has threads (and Python 3.12 warns of it). It imports nothing of ours, so it starts in 20 ms.
The child keeps the process id that the parent was given.
"""

import ctypes
import json
import os
import sys
from contextlib import suppress
from typing import Any

PR_SET_PDEATHSIG, PR_SET_SECUREBITS, PR_CAP_AMBIENT = 1, 28, 47
PR_CAP_AMBIENT_RAISE, SECBIT_NO_SETUID_FIXUP = 2, 4
CAPABILITY_VERSION_3 = 0x20080522
"""From linux/prctl.h, linux/securebits.h and linux/capability.h."""


def main(options: dict[str, Any], command: list[str]) -> None:
    if options["lock"] is not None:
        os.ftruncate(options["lock"], 0)
        os.write(options["lock"], str(os.getpid()).encode())
    if options["account"] is not None:
        become(**options["account"])
    if sys.platform == "linux":
        # after the change of account, which resets it
        with suppress(OSError):  # a net below the ordinary stop, not worth failing for
            prctl(PR_SET_PDEATHSIG, options["signal"])
        if os.getppid() != options["parent"]:
            sys.exit("the parent is gone already")
    os.execvp(command[0], command)


def become(uid: int, gid: int, capability: int | None) -> None:
    """Change the account for good, keeping at most one capability of root's."""
    os.setgroups([])
    os.setgid(gid)
    if capability is None:
        os.setuid(uid)
        return
    # not for setuid(), which would need less, but for access(), by which PostgreSQL tests its own programs
    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
    os.setuid(uid)
    _capset(1 << capability)
    # "ambient" is what survives exec in a program that asks for nothing itself
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)


def prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if ctypes.CDLL(None, use_errno=True).prctl(option, *arguments) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def _capset(mask: int) -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    effective_permitted_inheritable = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, effective_permitted_inheritable) != 0:
        raise OSError(ctypes.get_errno(), "capset")


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error}")
