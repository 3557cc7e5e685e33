"""Properties of assignments that hold whatever happens to a group, in a simulated cluster."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.group.assignment import AssignorMemory, Decision, Rebalance, assign, revocation_backoff_ms
from penstock.core.group.membership import CONFIG_MISMATCH, Assignment, ClusterConfigSnapshot, Member
from penstock.core.model.tasks import TaskId

DELAY_MS = 300_000
CONFIGS = st.dictionaries(st.sampled_from([f"c{i}" for i in range(12)]), st.integers(0, 9), min_size=1)
WORKERS = st.sets(st.sampled_from("abcdefghij"), min_size=1)


class Cluster:
    """Workers that run their assignments, and rejoin when they must."""

    def __init__(self, config: dict[str, int], workers: set[str], max_delay_ms: int = DELAY_MS) -> None:
        self.config = config
        self.running = dict.fromkeys(sorted(workers), Assignment())
        self.max_delay_ms = max_delay_ms
        self.memory = AssignorMemory()
        self.generation = 0
        self.now_ms = 1

    def rebalance(self) -> Decision:
        self.generation += 1
        members = [Member(id, f"http://{id}", 1, running) for id, running in self.running.items()]
        round = Rebalance(min(self.running), self.generation, self.generation - 1, max_delay_ms=self.max_delay_ms)
        decision = assign(ClusterConfigSnapshot(1, self.config), members, self.memory, self.now_ms, round)
        self.memory = decision.memory
        for id, told in decision.assignments.items():
            old = self.running[id]
            self.running[id] = Assignment(
                tuple(c for c in old.connectors if c not in told.revoked_connectors) + told.connectors,
                tuple(t for t in old.tasks if t not in told.revoked_tasks) + told.tasks,
            )
        self.check_nothing_twice()
        return decision

    def settle(self) -> None:
        """Rebalance as the members do: again at once after a revocation, again after a delay, until nothing moves."""
        for _ in range(50):
            told = list(self.rebalance().assignments.values())
            if any(a.revoked_connectors or a.revoked_tasks for a in told):
                continue
            if told[0].delay_ms == 0:
                return
            self.now_ms += told[0].delay_ms
        raise AssertionError("the group does not settle")

    def check_nothing_twice(self) -> None:
        for kind in ("connectors", "tasks"):
            counts = Counter(item for running in self.running.values() for item in getattr(running, kind))
            assert all(count == 1 for count in counts.values())

    def check_complete_and_balanced(self) -> None:
        connectors = [c for running in self.running.values() for c in running.connectors]
        tasks = [t for running in self.running.values() for t in running.tasks]
        assert sorted(connectors) == sorted(self.config)
        assert sorted(tasks) == sorted(TaskId(c, i) for c, n in self.config.items() for i in range(n))
        for sizes in (
            [len(r.connectors) for r in self.running.values()],
            [len(r.tasks) for r in self.running.values()],
        ):
            assert max(sizes) - min(sizes) <= 1

    def moved(self, before: dict[str, Assignment]) -> int:
        return sum(
            len(set(old.tasks) - set(self.running[id].tasks)) for id, old in before.items() if id in self.running
        )


@given(CONFIGS, WORKERS)
def test_a_new_group_runs_everything_after_one_rebalance(config: dict[str, int], workers: set[str]) -> None:
    cluster = Cluster(config, workers)
    cluster.rebalance()
    cluster.check_complete_and_balanced()


@given(CONFIGS, WORKERS, CONFIGS, WORKERS, st.booleans())
def test_assignments_become_complete_and_balanced_after_any_change(
    config: dict[str, int], workers: set[str], next_config: dict[str, int], next_workers: set[str], no_delay: bool
) -> None:
    cluster = Cluster(config, workers, 0 if no_delay else DELAY_MS)
    cluster.settle()
    cluster.config = next_config
    cluster.running = {id: cluster.running.get(id, Assignment()) for id in sorted(next_workers)}
    cluster.settle()
    cluster.rebalance()
    cluster.settle()
    cluster.check_complete_and_balanced()


@given(CONFIGS, WORKERS)
def test_a_rebalance_without_a_change_moves_nothing(config: dict[str, int], workers: set[str]) -> None:
    cluster = Cluster(config, workers)
    cluster.settle()
    before = dict(cluster.running)
    told = cluster.rebalance().assignments.values()
    assert cluster.running == before
    assert not any(a.connectors or a.tasks or a.revoked_connectors or a.revoked_tasks or a.delay_ms for a in told)


@given(CONFIGS, WORKERS)
def test_a_new_worker_gets_its_share_and_nothing_else_moves(config: dict[str, int], workers: set[str]) -> None:
    cluster = Cluster(config, workers)
    cluster.settle()
    before = dict(cluster.running)
    cluster.running["new"] = Assignment()
    cluster.settle()
    cluster.check_complete_and_balanced()
    assert cluster.moved(before) == len(cluster.running["new"].tasks)


@given(CONFIGS, WORKERS.filter(lambda workers: len(workers) > 1), st.integers(1, DELAY_MS - 1))
def test_tasks_of_a_lost_worker_wait_for_the_delay_and_then_go_to_others(
    config: dict[str, int], workers: set[str], waited_ms: int
) -> None:
    cluster = Cluster(config, workers)
    cluster.settle()
    gone = cluster.running.pop(max(workers))
    before = dict(cluster.running)
    told = cluster.rebalance().assignments
    if not gone.connectors and not gone.tasks:
        return
    assert {a.delay_ms for a in told.values()} == {DELAY_MS}
    cluster.now_ms += waited_ms
    assert {a.delay_ms for a in cluster.rebalance().assignments.values()} == {DELAY_MS - waited_ms}
    assert cluster.running == before
    cluster.now_ms += DELAY_MS - waited_ms
    cluster.settle()
    cluster.check_complete_and_balanced()
    assert cluster.moved(before) == 0


@given(CONFIGS, WORKERS.filter(lambda workers: len(workers) > 1))
def test_a_worker_that_returns_in_time_gets_back_what_it_ran(config: dict[str, int], workers: set[str]) -> None:
    cluster = Cluster(config, workers)
    cluster.settle()
    gone = cluster.running.pop(max(workers))
    cluster.rebalance()
    cluster.running["returned"] = Assignment()
    cluster.rebalance()
    cluster.now_ms += DELAY_MS
    cluster.rebalance()
    back = cluster.running["returned"]
    assert set(gone.connectors) <= set(back.connectors)
    assert set(gone.tasks) <= set(back.tasks)


def test_work_run_twice_is_revoked_from_both_workers_and_given_to_one() -> None:
    cluster = Cluster({"c0": 2}, {"a", "b"})
    cluster.settle()
    cluster.running = {
        id: Assignment(running.connectors, (TaskId("c0", 0),)) for id, running in cluster.running.items()
    }
    decision = cluster.rebalance()
    assert [a.revoked_tasks for a in decision.assignments.values()] == [(TaskId("c0", 0),)] * 2
    cluster.settle()
    cluster.check_complete_and_balanced()


def test_a_leader_that_has_read_less_than_a_member_assigns_nothing() -> None:
    memory = AssignorMemory(previous_generation=4)
    members = [Member("a", "http://a", 7), Member("b", "http://b", 8)]
    decision = assign(ClusterConfigSnapshot(7, {"c0": 1}), members, memory, 1, Rebalance("a", 5, 4))
    expected = Assignment(leader="a", leader_url="http://a", offset=8, error=CONFIG_MISMATCH)
    assert decision.assignments == {"a": expected, "b": expected}
    assert decision.memory == memory
    assert decision.owners is None


def test_the_leader_knows_the_owner_of_each_connector_and_task() -> None:
    members = [Member("a", "http://a", 7), Member("b", "http://b", 6)]
    decision = assign(ClusterConfigSnapshot(7, {"c0": 2}), members, AssignorMemory(), 1, Rebalance("b", 1, -1))
    assert decision.owners is not None
    assert decision.owners.connectors == {"c0": "http://a"}
    assert decision.owners.tasks == {TaskId("c0", 0): "http://a", TaskId("c0", 1): "http://b"}
    assert {a.offset for a in decision.assignments.values()} == {7}
    assert {(a.leader, a.leader_url) for a in decision.assignments.values()} == {("b", "http://b")}


def test_the_eager_protocol_assigns_connectors_first_and_then_tasks() -> None:
    members = [Member(id, f"http://{id}", 1) for id in "cab"]
    snapshot = ClusterConfigSnapshot(1, {"y": 1, "x": 2})
    told = assign(snapshot, members, AssignorMemory(), 1, Rebalance("c", 1, -1, protocol=0)).assignments
    assert told["a"].connectors == ("x",)
    assert told["a"].tasks == (TaskId("x", 1),)
    assert told["b"].connectors == ("y",)
    assert told["b"].tasks == (TaskId("y", 0),)
    assert told["c"].connectors == ()
    assert told["c"].tasks == (TaskId("x", 0),)
    assert {(a.version, a.delay_ms) for a in told.values()} == {(0, 0)}


def test_successive_revocations_wait_longer_each_time() -> None:
    assert [revocation_backoff_ms(n, 300_000) for n in range(1, 5)] == [40, 1600, 64_000, 300_000]
    assert revocation_backoff_ms(3, 0) == 0
    assert revocation_backoff_ms(3, 1) == 1


@given(CONFIGS, CONFIGS, st.sets(st.sampled_from("abcdefghij"), min_size=2), st.integers(0, 3), st.booleans())
def test_a_new_leader_revokes_what_was_deleted_or_reduced_before_its_term(
    before: dict[str, int], after: dict[str, int], workers: set[str], rounds: int, led_once: bool
) -> None:
    """Connectors deleted, or with fewer tasks: a smaller ``tasks.max``, or none because they were stopped."""
    cluster = Cluster(before, workers)
    cluster.settle()
    memory = cluster.memory if led_once else AssignorMemory()
    for _ in range(rounds + 1):
        cluster.rebalance()  # under another leader
    del cluster.running[min(cluster.running)]
    cluster.memory, cluster.config = memory, after
    cluster.rebalance()
    connectors = {c for running in cluster.running.values() for c in running.connectors}
    tasks = {t for running in cluster.running.values() for t in running.tasks}
    assert connectors <= after.keys()
    assert tasks <= {TaskId(name, i) for name, count in after.items() for i in range(count)}
    cluster.now_ms += DELAY_MS
    cluster.settle()
    cluster.check_complete_and_balanced()
