"""A script that runs before a child's command: it makes the child end with its parent, then becomes the command.

It is not a ``preexec_fn``: Python code between fork and exec may deadlock if the parent has threads (Python 3.12
warns of it). It imports nothing of ours, so it starts in 20 ms. The process id stays the same.
"""

import ctypes
import json
import os
import sys
from contextlib import suppress
from typing import Any

# From linux/prctl.h, linux/securebits.h and linux/capability.h.
PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 4
CAPABILITY_VERSION_3 = 0x20080522


def main(options: dict[str, Any], command: list[str]) -> None:
    if options["lock"] is not None:
        os.ftruncate(options["lock"], 0)
        os.write(options["lock"], str(os.getpid()).encode())
    if options["account"] is not None:
        become(**options["account"])
    if sys.platform == "linux":
        # after the change of user, which resets it
        with suppress(OSError):  # children are also stopped explicitly, so this is not worth failing for
            prctl(PR_SET_PDEATHSIG, options["signal"])
        if os.getppid() != options["parent"]:
            sys.exit("the parent process has already ended")
    os.execvp(command[0], command)


def become(uid: int, gid: int, capability: int | None) -> None:
    """Change the user for good, and keep at most one capability of root."""
    os.setgroups([])
    os.setgid(gid)
    if capability is None:
        os.setuid(uid)
        return
    # needed for access(), with which PostgreSQL tests its own programs; setuid() alone would need less
    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
    os.setuid(uid)
    _capset(1 << capability)
    # an "ambient" capability survives the exec of a program that requests none itself
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
