"""Temporary folders that are removed even if the process that made them is killed.

A process removes its own folders when it ends. A killed process leaves them, and the next process that makes such a
folder in the same place removes them. The owner holds a lock on the folder (``flock``), which the kernel releases when
the process ends. Unlike a process id, a lock means the same in all containers of a machine and is never reused by
another process. systemd-tmpfiles, too, leaves locked folders alone.

Other machines do not see the lock, as NFS keeps locks on folders local. So the name of a folder has a part of the boot
id of the kernel that holds its lock, and folders with other boot ids are left alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def _kernel() -> str:
    """Return Linux's boot id, or the machine's name where there is none."""
    try:
        return _BOOT.read_text()[:8]
    except OSError:
        return socket.gethostname()


PREFIX = f"penstock-scratch-{_kernel()}-"


class Scratch:
    """A folder of this process that only its user may enter. Raises OSError if it can't be made."""

    def __init__(self, name: str, root: Path | None = None) -> None:
        """Create the folder.

        ``name`` tells people its purpose; ``root`` is its parent, by default that of temporary files.
        """
        root = Path(tempfile.gettempdir()) if root is None else root
        self.path, self._lock = _made(root, name)
        threading.Thread(target=remove_abandoned, args=(root,), name="scratch", daemon=True).start()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def remove_abandoned(root: Path) -> None:
    """Remove the folders there whose processes have ended, if they were this user's and on this machine."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                remove_if_abandoned(Path(entry.path))


def remove_if_abandoned(folder: Path) -> None:
    """Remove this folder of this machine if its process has ended, and was this user's."""
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _made(root: Path, name: str) -> tuple[Path, int | None]:
    """Create a folder; return it, and the descriptor that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{name}-", dir=root))
        lock: int | None = None
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a disk without locks: nobody gets one, and nobody removes what is another's
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock), path.stat()):
                return path, lock
        # Another process has had the lock first, and taken the folder for an abandoned one.
        if lock is not None:
            os.close(lock)
