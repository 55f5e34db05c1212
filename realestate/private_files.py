"""Files and folders that only their owner can read: raw pages, logs, backups, data of embedded servers.

They may contain personal data or passwords. Folders that exist already keep their permissions."""

import os
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def private_folder(path: Path) -> Path:
    """Create the folder and its missing parents, and return it. Only the owner can enter the new ones."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    path.mkdir(exist_ok=True)  # raises FileExistsError if it is no folder
    return path


def owner_only(path: str, flags: int) -> int:
    """The `opener` of a file that only its owner can read. A file that exists already loses all other permissions."""
    descriptor = os.open(path, flags, FILE_MODE)
    if os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, FILE_MODE)
    return descriptor
