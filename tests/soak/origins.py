"""Connectors whose origins are replaced under their names, or that faults alter, pause or disturb by a neighbour.

The faults of ``faults.plan.OF_ORIGINS`` hit them, besides all others. Their records must be complete, and with exactly
once none may be duplicated. A connector may stop only with a message that gives the reason, which is awaited where an
origin was recreated.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from faults.plan import OF_ORIGINS, Fault, Plan
from soak.cluster import TO_SETTLE, Cluster, kill, states, status
from soak.recreated import RecreatedSlot, RecreatedTopic, ReplacedFile
from soak.report import Outcome
from soak.sites import STEP, Reader, Shared, Site, lost, says_why
from soak.victims import processes
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import PLAIN


class Numbers:
    """A connector that counts. Its offsets are altered by REST, it is paused, or it prints as much as it can for a
    while.
    """

    def __init__(self, shared: Shared, kind: str) -> None:
        self.name, self.lock, self._shared, self._kind = f"{kind}-{shared.mark}", threading.Lock(), shared, kind
        self._reader = Reader(shared.bootstrap, Kafka(shared.bootstrap).create_topic(self.name))
        self._rewinds: list[int] = []
        """Numbers from which it was told to count again."""
        self._loud, self._hits = 0.0, 0

    def config(self) -> dict[str, str]:
        return {
            **PLAIN,
            "connector.class": "plugin.Counting",
            "tasks.max": "1",
            "topic": self.name,
            "topic.partitions": "1",
            "source.partitions": "1",
            "loud.seconds": f"{self._loud:.1f}",
            "revision": str(self._hits),
        }

    def feed(self) -> None:
        """Do nothing: the connector produces its own input."""

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        path, begun = f"/connectors/{self.name}", len(self._reader.read())
        self._hits += 1
        match self._kind:
            case "offsets":
                cluster.request("PUT", f"{path}/stop")
                until(lambda: states(cluster, self.name) == ["STOPPED"], f"the stop of {self.name}", TO_SETTLE)
                sent = self._count()
                target = max(0, sent - int(fault.choice * 400)) if fault.choice < 0.9 else 0
                self._rewinds.append(target)
                cluster.request("PATCH", f"{path}/offsets", altered(target))
                cluster.request("PUT", f"{path}/resume")
            case "pause":
                cluster.request("PUT", f"{path}/pause")
                threading.Event().wait(min(fault.seconds, 15.0))
                cluster.request("PUT", f"{path}/resume")
            case _:
                self._loud = min(fault.seconds, 10.0)
                cluster.request("PUT", f"{path}/config", self.config())
        until(lambda: len(self._reader.read()) > begun, f"numbers of {self.name}", TO_SETTLE)

    def _count(self) -> int:
        """Return the number with which it goes on, as far as readers know."""
        values = self._reader.read()
        return int(values[-1].split()[1]) + 1 if values else 0

    def missing(self) -> int:
        return 0

    def judge(self) -> list[str]:
        numbers = [int(value.split()[1]) for value in self._reader.read(to_the_end=True)]
        if not self._shared.exactly_once:
            gaps = sorted(set(range(max(numbers, default=-1) + 1)) - set(numbers))
            return [f"{self.name}: {len(gaps)} numbers are lost, the first is {gaps[0]}"] if gaps else []
        return [f"{self.name}: {each}" for each in jumps(numbers, self._rewinds)]

    def close(self) -> None:
        self._reader.close()


def altered(number: int) -> dict[str, object]:
    return {"offsets": [{"partition": {"source": 0}, "offset": {"next": number}}]}


def jumps(numbers: Sequence[int], rewinds: Sequence[int]) -> list[str]:
    """Describe numbers that neither follow the one before nor are the next of ``rewinds``.

    An offset that is altered again before a number was sent from it cannot be seen.
    """
    wrong, last, left = [], -1, list(rewinds)
    for number in numbers:
        if number != last + 1:
            if number in left:
                left = left[left.index(number) + 1 :]
            else:
                wrong.append(f"{number} came after {last}, which was not requested")
        last = number
    return wrong


class SameName:
    """Sinks of one name in two clusters, which share their group and must together write every record."""

    def __init__(self, shared: Shared, settings: dict[str, str]) -> None:
        self.name, self.lock, self._shared = f"twin-{shared.mark}", threading.Lock(), shared
        self._kafka = Kafka(shared.bootstrap)
        self._kafka.create_topic(self.name, partitions=4)
        self._files = [shared.folder / f"{self.name}-{i}.txt" for i in range(2)]
        (shared.folder / "twin").mkdir(exist_ok=True)
        self._twin = Cluster(shared.bootstrap, shared.folder / "twin", 1, **settings).__enter__()
        self._twin.request("PUT", f"/connectors/{self.name}/config", self._config(1))
        self._sent: list[str] = []

    def config(self) -> dict[str, str]:
        return self._config(0)

    def _config(self, cluster: int) -> dict[str, str]:
        return {
            **PLAIN,
            "connector.class": "FileStreamSink",
            "tasks.max": "1",
            "topics": self.name,
            "file": str(self._files[cluster]),
            "consumer.override.session.timeout.ms": "10000",
        }

    def feed(self) -> None:
        new = [f"record {len(self._sent) + i}" for i in range(5)]
        self._kafka.produce(self.name, new)
        self._sent += new

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        hurt = self._twin if fault.choice < 0.7 else cluster
        tasks = processes(hurt, "task")
        if fault.process == "worker" and hurt is self._twin:
            self._twin.kill(self._twin.workers[0])
            self._twin.workers[0].start()
        elif tasks:
            kill(random.Random(fault.choice).choice(tasks)[1])

    def _found(self) -> set[str]:
        return {line for file in self._files if file.exists() for line in file.read_text().splitlines()}

    def missing(self) -> int:
        return len(set(self._sent) - self._found())

    def judge(self) -> list[str]:
        wrong = lost(self.name, self._sent, sorted(self._found()))
        states_there = states(self._twin, self.name)
        if states_there != ["RUNNING"] * 2:
            wrong.append(f"{self.name} in the other cluster: {status(self._twin, self.name)}")
        return wrong + [f"the other cluster: {each}" for each in self._twin.mishaps()]

    def close(self) -> None:
        self._twin.__exit__(None, None, None)


class Origins:
    """The sites of the faults of a plan. A test calls ``begin``, ``hit`` for each fault, ``end`` and ``judge``."""

    def __init__(self, cluster: Cluster, bootstrap: str, folder: Path, plan: Plan, exactly_once: bool) -> None:
        """``bootstrap`` leads to the broker directly, past the proxy that faults affect."""
        self._cluster, self._shared = cluster, Shared(bootstrap, folder, exactly_once)
        makers: dict[str, Callable[[], Site]] = {
            "file": lambda: ReplacedFile(self._shared),
            "topic": lambda: RecreatedTopic(self._shared),
            "slot": lambda: RecreatedSlot(self._shared),
            "twin": lambda: SameName(self._shared, {}),
            **{kind: lambda kind=kind: Numbers(self._shared, kind) for kind in ("offsets", "pause", "verbose")},  # type: ignore[misc]
        }
        assert makers.keys() == OF_ORIGINS
        self._sites = {kind: makers[kind]() for kind in sorted(OF_ORIGINS & set(plan.kinds))}
        self._ended = threading.Event()
        self._feeder = threading.Thread(target=self._feed, name="origins")
        self.failure: BaseException | None = None
        self._unfinished: dict[str, str] = {}
        """Descriptions of faults from which a connector did not recover, by kind."""

    @property
    def names(self) -> set[str]:
        return {site.name for site in self._sites.values()}

    @property
    def stops(self) -> list[str]:
        """Return the messages of connectors that stopped because their origin was recreated, a line each."""
        with self._shared.lock:
            return [next(line for line in said.splitlines() if says_why(line)) for said in self._shared.stops]

    def expected(self, sentence: str) -> bool:
        """Return whether a failure is one that a recreated origin must cause."""
        sites = [self._sites[kind].name for kind in ("file", "topic", "slot") if kind in self._sites]
        return sentence.startswith(tuple(sites)) and says_why(sentence)

    def begin(self) -> None:
        """Create all connectors, and return when they run."""
        for site in self._sites.values():
            self._cluster.request("PUT", f"/connectors/{site.name}/config", site.config())
        try:
            until(self._all_run, "all connectors with an origin running", TO_SETTLE)
        except AssertionError as error:
            raise AssertionError(
                "\n".join([str(error), *(f"{n}: {status(self._cluster, n)}" for n in self.names)])
            ) from None
        self._feeder.start()

    def hit(self, fault: Fault) -> None:
        """Inject a fault, and return when it is over. Faults of one kind come one after the other, and no more come
        after one from which the connector did not recover.
        """
        site = self._sites[fault.kind]
        with site.lock:
            if fault.kind in self._unfinished:
                return
            try:
                site.hit(fault, self._cluster)
            except AssertionError as error:
                self._unfinished[fault.kind] = f"{site.name}: {error}, status: {status(self._cluster, site.name)}"

    def end(self) -> list[str]:
        """Stop feeding, and describe what does not run or arrive after the last fault."""
        self._ended.set()
        self._feeder.join()
        wrong = [] if self.failure is None else [f"the feeder of origins has failed: {self.failure!r}"]
        wrong += self._unfinished.values()
        try:
            until(self._all_run, "all connectors with an origin running again", TO_SETTLE)
            for site in self._sites.values():
                until(lambda: not site.missing(), f"all of {site.name}", TO_SETTLE)  # noqa: B023
        except AssertionError as error:
            wrong += [str(error), *(f"{name}: {status(self._cluster, name)}" for name in self.names)]
        for name in self.names:
            self._cluster.request("PUT", f"/connectors/{name}/stop")
        until(lambda: all(states(self._cluster, name) == ["STOPPED"] for name in self.names), "the stop", TO_SETTLE)
        return wrong

    def judge(self) -> Outcome:
        """Judge all sites. Called after ``end``."""
        wrong = [sentence for site in self._sites.values() for sentence in site.judge()]
        figures: dict[str, object] = {"stops with a message, since an origin was recreated": len(self._shared.stops)}
        return Outcome(figures if self._sites else {}, wrong)

    def close(self) -> None:
        self._ended.set()
        for site in self._sites.values():
            site.close()

    def _all_run(self) -> bool:
        return all(states(self._cluster, name) == ["RUNNING"] * 2 for name in self.names)

    def _feed(self) -> None:
        try:
            while not self._ended.wait(STEP):
                for site in self._sites.values():
                    # A site that waits for earlier input gets no more.
                    if site.lock.acquire(blocking=False):
                        try:
                            site.feed()
                        finally:
                            site.lock.release()
        except BaseException as error:
            self.failure = error
