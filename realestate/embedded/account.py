"""Who runs PostgreSQL, which refuses to run as root.

As root we use the account that owns the data, at first ``nobody``, and create no account for it. The data
and the programs often lie below a folder closed to others (/root, a temporary folder). Rather than open such
folders we leave the server the one capability of root's it needs to get through; only where the kernel has
none to give do we let others *through* (not into) the folders in between.
"""

import logging
import os
import pwd
import stat
import subprocess
from pathlib import Path

from realestate.embedded.children import Account, launched
from realestate.embedded.errors import EmbeddedError

NOBODY = "nobody"
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
"""From linux/capability.h. Docker gives its root the first, not the second, which is the lesser."""

logger = logging.getLogger(__name__)


def give(path: Path) -> None:
    """Make a new file or folder the account's, where we are root."""
    if os.geteuid() == 0:
        nobody = pwd.getpwnam(NOBODY)
        os.chown(path, nobody.pw_uid, nobody.pw_gid)


def account_for(data: Path, program: Path) -> Account | None:
    """Whom to run ``program`` on ``data`` as; None where we are an ordinary user, who does it himself."""
    if os.geteuid() != 0:
        return None
    owner = data.stat()
    for capability in (None, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
        account = Account(owner.st_uid, owner.st_gid, capability)
        if _obstacle(account, data, program) is None:
            return account
    _open_way_to(data)
    _open_way_to(program)
    account = Account(owner.st_uid, owner.st_gid)
    if obstacle := _obstacle(account, data, program):
        raise EmbeddedError(f"PostgreSQL does not run as root, nor here as user {account.uid}: {obstacle}")
    return account


def _obstacle(account: Account, data: Path, program: Path) -> str | None:
    """What keeps the account from running the program on the data, found by trying."""
    script = ["/bin/sh", "-c", 'cd "$1" && exec "$2" --version', "sh", str(data), str(program)]
    trial = subprocess.run(launched(script, account=account), capture_output=True, text=True)
    return None if trial.returncode == 0 else trial.stderr.strip().split("\n")[-1]


def _open_way_to(path: Path) -> None:
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            logger.warning("letting other users through %s", folder)
            folder.chmod(mode | stat.S_IXOTH)
