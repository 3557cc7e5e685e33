"""Limits of the process of a plugin, which the kernel enforces: by a group (cgroup v2), else by ``setrlimit``.

The kernel does not limit groups whose parent has processes. So the process that makes groups must be in a group of its
own, below one that is delegated to its user and has no processes, as with systemd's ``Delegate=`` and
``DelegateSubgroup=``. The groups of plugins are made next to it. Elsewhere there are none, and ``setrlimit`` is used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConnectError

MEMORY = "penstock.plugin.max.memory.bytes"
CPU = "penstock.plugin.max.cpu.ms"
PERCENT = "penstock.plugin.max.cpu.percent"
ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
NAME = "penstock-plugin-"
_PERIOD_US = 100_000
_REMOVAL_S = 2.0
"""Time limit for the end of killed processes."""


class LimitError(ConnectError):
    """A plugin has used more than its limit."""


@dataclass(frozen=True, slots=True)
class PluginLimits:
    """Limits of a plugin; None for none."""

    memory: int | None = None
    """Bytes: in a group those that it uses, with all that it starts; else those that it has allocated."""
    cpu: int | None = None
    """Seconds of processor time, of each of its processes."""
    percent: int | None = None
    """Share of a processor at any time, with all that it starts: 150 is one and a half. Needs a group."""

    @classmethod
    def of(cls, connector: Mapping[str, str], worker: Mapping[str, str]) -> Self:
        """Return the smaller limits of the connector's and the worker's configuration."""
        cpu = _smallest(CPU, connector, worker)
        seconds = None if cpu is None else -(-cpu // 1000)
        return cls(_smallest(MEMORY, connector, worker), seconds, _smallest(PERCENT, connector, worker))

    def options(self, in_group: bool) -> dict[str, Any]:
        """Return the limits that ``setrlimit`` is to enforce; ``in_group``: a group enforces the rest."""
        return {"memory": None if in_group else self.memory, "cpu": self.cpu}

    def memory_exceeded(self) -> LimitError:
        """Return the error of a plugin that needs more memory."""
        return LimitError(f"The plugin needs more memory than {MEMORY}={self.memory} allows")

    def cpu_exceeded(self) -> LimitError:
        """Return the error of a plugin that has used up its processor time."""
        return LimitError(f"The plugin has used up its processor time: {CPU} allows {self.cpu} s for each process")


NO_LIMITS = PluginLimits()


def _smallest(name: str, *configs: Mapping[str, str]) -> int | None:
    given = [
        parse_type(name, value, ConfigType.LONG) for config in configs if (value := (config.get(name) or "").strip())
    ]
    return min(given, default=None)


# -- groups


class NoGroupsError(Exception):
    """This process can't make groups."""


class Group:
    """A group, whose limits hold for the process that joins it and for all that this one starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._out_of_memory = False

    @classmethod
    def make(cls, parent: Path, limits: PluginLimits) -> Group:
        """Make a group. Raises NoGroupsError, OSError."""
        wanted = [name for name, limit in (("memory", limits.memory), ("cpu", limits.percent)) if limit is not None]
        if absent := set(wanted) - set((parent / "cgroup.controllers").read_text().split()):
            raise NoGroupsError(f"the group {parent} has no controller {absent.pop()}")
        (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))
        folder = parent / f"{NAME}{os.getpid()}-{secrets.token_hex(4)}"  # a killed process may have had the same id
        folder.mkdir()
        group = cls(folder)
        try:
            group._limit(limits)
        except OSError:
            group.close()
            raise
        return group

    def _limit(self, limits: PluginLimits) -> None:
        if limits.memory is not None:
            (self.folder / "memory.max").write_text(str(limits.memory))
            (self.folder / "memory.oom.group").write_text("1")
            with contextlib.suppress(OSError):  # a kernel without swap has no such file
                (self.folder / "memory.swap.max").write_text("0")
        if limits.percent is not None:
            (self.folder / "cpu.max").write_text(f"{limits.percent * _PERIOD_US // 100} {_PERIOD_US}")

    def out_of_memory(self) -> bool:
        """Return whether the kernel has killed a process of the group because of its limit, after ``close`` as well."""
        if not self._out_of_memory:
            with contextlib.suppress(OSError):
                events = dict(line.split() for line in (self.folder / "memory.events").read_text().splitlines())
                self._out_of_memory = int(events.get("oom_kill", 0)) > 0
        return self._out_of_memory

    def close(self) -> None:
        """Kill the processes that are left in the group, and remove it."""
        self.out_of_memory()
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + _REMOVAL_S
        while not _removed(self.folder) and time.monotonic() < deadline:
            time.sleep(0.02)


def group_for(limits: PluginLimits) -> Group | None:
    """Return the group for a process with these limits, or None if ``setrlimit`` is to enforce them.

    Raises ConnectError for a limit that only a group can hold.
    """
    if limits.memory is None and limits.percent is None:
        return None
    try:
        parent = delegated()
        sweep(parent)
        return Group.make(parent, limits)
    except (NoGroupsError, OSError) as reason:
        if limits.percent is None:
            return None
        raise ConnectError(f"{PERCENT}={limits.percent} has no effect on this machine: {reason}") from None


def join(folder: str) -> None:
    """Move the present process into the group, with all that it starts from now on."""
    Path(folder, "cgroup.procs").write_text("0")


def delegated(root: Path | None = None, membership: Path | None = None, user: int | None = None) -> Path:
    """Return the group in which this process may make others. Raises NoGroupsError."""
    root = ROOT if root is None else root
    if not (root / "cgroup.controllers").exists():
        raise NoGroupsError(f"cgroup version 2 is not at {root}")
    lines = (MEMBERSHIP if membership is None else membership).read_text().splitlines()
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "")
    if not own:
        raise NoGroupsError("this process is in no group of its own")
    parent = (root / own).parent
    if not _is_delegated(parent, os.geteuid() if user is None else user):
        raise NoGroupsError(f"the group {parent} is not delegated to this user")
    if (parent / "cgroup.procs").read_text().strip():
        raise NoGroupsError(f"the group {parent} has processes of its own")
    if not all(os.access(parent / name, os.W_OK) for name in ("cgroup.procs", "cgroup.subtree_control")):
        raise NoGroupsError(f"the group {parent} can't be written to")
    return parent


def sweep(parent: Path) -> None:
    """Remove the empty groups of processes that were killed."""
    for folder in parent.glob(f"{NAME}*-*"):
        owner = folder.name.removeprefix(NAME).partition("-")[0]
        if not Path("/proc", owner).exists():
            _removed(folder)


def _is_delegated(group: Path, user: int) -> bool:
    """Return whether a group is delegated: by systemd's mark, or by an owner other than root, who owns all groups.

    The slices of a user's session belong to the user as well, but systemd manages them: processes in them do not end
    with the worker's unit.
    """
    return any(_marks(group)) or (group.stat().st_uid == user != 0 and group.suffix != ".slice")


def _marks(group: Path) -> Iterator[bool]:
    for name in ("trusted.delegate", "user.delegate"):
        try:
            yield os.getxattr(group, name) == b"1"
        except OSError:
            yield False


def _removed(folder: Path) -> bool:
    """Remove a group; return False as long as there are processes in it."""
    try:
        folder.rmdir()
    except OSError as error:
        return error.errno != errno.EBUSY
    return True
