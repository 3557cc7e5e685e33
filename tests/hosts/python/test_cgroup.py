"""Control groups of plugins' processes: in a tree of folders like the kernel's, and real ones where permitted.

The real ones: ``systemd-run --user --pty -d -p Delegate=yes -p DelegateSubgroup=tests .venv/bin/pytest <this file>``.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from hosts.python.test_tasks import source
from penstock.api.errors import ConnectError
from penstock.hosts.python import limits
from penstock.hosts.python.limits import NAME, Group, NoGroupsError, PluginLimits, delegated, group_for, sweep
from penstock.plugins import Plugins

MEMORY = PluginLimits(memory=256 << 20)


@dataclass(frozen=True)
class Tree:
    """Tree of control groups of a service that is delegated to a user, as systemd makes it."""

    root: Path
    service: Path
    membership: Path
    user: int

    def delegated(self) -> Path:
        return delegated(self.root, self.membership, self.user)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    root = tmp_path / "cgroup"
    service = root / "system.slice" / "penstock.service"
    (service / "worker").mkdir(parents=True)
    for folder in (root, service):
        (folder / "cgroup.controllers").write_text("cpu memory pids\n")
    for file in ("cgroup.procs", "cgroup.subtree_control"):
        (service / file).write_text("")
    membership = tmp_path / "membership"
    membership.write_text("0::/system.slice/penstock.service/worker\n")
    user = os.geteuid() or 1000
    os.chown(service, user, -1)
    return Tree(root, service, membership, user)


@pytest.fixture
def used(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Use this tree for the groups of plugins' processes."""
    if os.geteuid() == 0:
        try:
            os.setxattr(tree.service, "user.delegate", b"1")
        except OSError as error:
            pytest.skip(f"this folder can't have systemd's mark: {error}")
    monkeypatch.setattr(limits, "ROOT", tree.root)
    monkeypatch.setattr(limits, "MEMBERSHIP", tree.membership)
    return tree


def read(group: Group) -> dict[str, str]:
    return {file.name: file.read_text() for file in group.folder.iterdir()}


def test_groups_are_made_beside_the_workers(tree: Tree) -> None:
    parent = tree.delegated()
    assert parent == tree.service
    first, second = (Group.make(parent, PluginLimits(memory=1 << 26, cpu=3, percent=150)) for _ in range(2))
    assert first.folder.parent == second.folder.parent == parent
    assert first.folder != second.folder
    assert (parent / "cgroup.subtree_control").read_text() == "+memory +cpu"
    assert read(first) == {
        "memory.max": "67108864",
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "cpu.max": "150000 100000",
    }


def test_a_group_has_only_the_limits_that_are_given(tree: Tree) -> None:
    assert set(read(Group.make(tree.service, PluginLimits(percent=1)))) == {"cpu.max"}
    assert (tree.service / "cgroup.subtree_control").read_text() == "+cpu"


def test_why_there_are_none(tree: Tree, tmp_path: Path) -> None:
    def refusal() -> str:
        with pytest.raises(NoGroupsError) as raised:
            tree.delegated()
        return str(raised.value)

    (tree.service / "cgroup.procs").write_text("17\n")
    assert refusal() == f"the group {tree.service} has processes of its own"
    os.chown(tree.service, os.geteuid(), -1)
    with pytest.raises(NoGroupsError, match=r"penstock\.service is not delegated to this user"):
        delegated(tree.root, tree.membership, 0)
    (session := tree.root / "app.slice").mkdir()
    os.chown(session, tree.user, -1)
    tree.membership.write_text("0::/app.slice/penstock.service\n")
    assert refusal() == f"the group {session} is not delegated to this user"
    tree.membership.write_text("4:memory:/a/b\n0::/\n")
    assert refusal() == "this process is in no group of its own"
    with pytest.raises(NoGroupsError, match=f"version 2 is not at {tmp_path}"):
        delegated(tmp_path, tree.membership)


def test_a_controller_that_is_not_delegated(tree: Tree) -> None:
    (tree.service / "cgroup.controllers").write_text("memory pids\n")
    with pytest.raises(NoGroupsError, match=r"penstock\.service has no controller cpu"):
        Group.make(tree.service, PluginLimits(memory=1 << 26, percent=50))
    assert list(tree.service.glob(f"{NAME}*")) == []


def test_the_kernel_says_that_it_has_killed(tree: Tree) -> None:
    folder = tree.service / f"{NAME}1-1"
    folder.mkdir()
    events = folder / "memory.events"
    group = Group(folder)
    assert not group.out_of_memory()
    events.write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n")
    assert not group.out_of_memory()
    events.write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 1\n")
    assert group.out_of_memory()
    events.unlink()
    assert group.out_of_memory(), "still, when the group is gone"


def test_groups_of_killed_processes_are_removed(tree: Tree) -> None:
    """An empty folder stands for a group without processes."""
    gone, running = tree.service / f"{NAME}999999999-1", tree.service / f"{NAME}{os.getpid()}-1"
    for folder in (gone, running):
        folder.mkdir()
    sweep(tree.service)
    assert (gone.exists(), running.exists()) == (False, True)


def test_without_groups_only_what_needs_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    assert group_for(PluginLimits(memory=1 << 26, cpu=1)) is None
    assert group_for(PluginLimits()) is None
    with pytest.raises(ConnectError, match=r"max\.cpu\.percent=50 has no effect on this machine: cgroup version 2"):
        group_for(PluginLimits(percent=50))


def test_a_task_that_needs_a_group_fails_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugins: Plugins
) -> None:
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    with pytest.raises(ConnectError, match=r"penstock\.plugin\.max\.cpu\.percent=50 has no effect on this machine"):
        source(plugins, PluginLimits(percent=50))
    assert len(source(plugins, MEMORY).poll()) == 2, "setrlimit holds memory"


def test_a_process_joins_its_group_and_fails_with_its_limit(used: Tree, plugins: Plugins) -> None:
    """The test does what the kernel would do: it kills the process and records that."""
    task = source(plugins, MEMORY)
    (folder,) = used.service.glob(f"{NAME}*")
    assert (folder / "cgroup.procs").read_text() == "0"
    assert len(task.poll()) == 2
    (folder / "memory.events").write_text("oom 1\noom_kill 1\n")
    os.kill(task._process.pid, signal.SIGKILL)
    with pytest.raises(ConnectError, match=r"more memory than penstock\.plugin\.max\.memory\.bytes=268435456 allows"):
        task.poll()
    task._process.close()
    assert (folder / "cgroup.kill").read_text() == "1"


@pytest.fixture
def parent() -> Path:
    try:
        return delegated()
    except NoGroupsError as reason:
        pytest.skip(f"real groups can't be made here: {reason}")


def test_real_memory_beyond_the_limit_fails_this_task_alone(parent: Path, plugins: Plugins) -> None:
    other, limited = source(plugins, MEMORY), source(plugins, MEMORY, trouble="memory")
    with pytest.raises(ConnectError, match=r"more memory than penstock\.plugin\.max\.memory\.bytes=268435456 allows"):
        limited.poll()
    assert len(other.poll()) == 2
    for each in (other, limited):
        each._process.close()
    assert list(parent.glob(f"{NAME}*")) == []


def test_a_real_share_of_a_processor(parent: Path, plugins: Plugins) -> None:
    task = source(plugins, PluginLimits(percent=50))
    (folder,) = parent.glob(f"{NAME}*")
    assert (folder / "cpu.max").read_text().split() == ["50000", "100000"]
    assert (folder / "cgroup.procs").read_text().split() == [str(task._process.pid)]
