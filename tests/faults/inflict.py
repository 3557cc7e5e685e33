"""Inject the faults of a plan into a cluster, and record them."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

from faults.broker import FaultyBroker
from faults.plan import OF_ORIGINS, Fault, Plan
from faults.silences import Span
from soak.cluster import Cluster
from soak.victims import processes
from support.worker_process import WorkerProcess

LATE = 0.2
"""Latency in seconds that a ``delay`` adds."""


class Faults:
    """Injects a plan's faults: call ``inflict_all`` once. A fault with a duration may still last when the next
    begins.
    """

    def __init__(
        self,
        cluster: Cluster,
        broker: FaultyBroker | None,
        connectors: Sequence[str],
        spared: Sequence[WorkerProcess] = (),
        of_origin: Callable[[Fault], None] | None = None,
    ) -> None:
        """``broker`` may be None if the plan has no broker faults. ``spared`` workers are left alone.
        ``of_origin`` carries out a fault of OF_ORIGINS, and returns when it is over.
        """
        self._cluster, self._broker, self._connectors = cluster, broker, connectors
        self._of_origin = of_origin
        self._workers = [worker for worker in cluster.workers if worker not in spared]
        self.counts: Counter[str] = Counter()
        """Number of faults by kind."""
        self._undoing: list[threading.Thread] = []
        self._ended = threading.Event()
        self.begun: list[float] = []
        """Time at which each fault began, in seconds of ``time.time``, as in ``away``."""
        self.away: list[Span] = []
        """Time spans in which the broker could not be reached."""
        self.failure: BaseException | None = None

    def inflict_all(self, plan: Plan, say: Callable[[str], None]) -> str:
        """Inject all faults; return a summary with their numbers when the last one is over."""
        try:
            for number, fault in enumerate(plan.faults()):
                time.sleep(fault.pause)
                self._cluster.watch_doomed()
                self.begun.append(time.time())
                said = _KINDS[fault.kind](self, fault)
                self.counts[fault.kind] += 1
                say(f"fault {number}: {said}")
        except BaseException:
            self._ended.set()
            raise
        finally:
            for thread in self._undoing:
                thread.join()
        if self.failure is not None:
            raise self.failure
        return ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))

    def _kill(self, fault: Fault) -> str:
        """Kill a process. A worker is started again at once; the processes below it are restarted by the worker."""
        if fault.process == "worker":
            worker = self._workers[int(fault.choice * len(self._workers))]
            self._cluster.kill(worker)
            worker.start()
            return f"kill worker {worker.name}"
        process, said = self._victim(fault)
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return f"kill {said}"

    def _freeze(self, fault: Fault) -> str:
        process, said = self._victim(fault)
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)
            self._later(fault.seconds, lambda: _thaw(process))
        return f"freeze {said} for {fault.seconds:.1f} s"

    def _freeze_broker(self, fault: Fault) -> str:
        broker = self._its_broker()
        broker.freeze()
        self._away(fault.seconds, broker.thaw)
        return f"freeze the broker for {fault.seconds:.1f} s"

    def _kill_broker(self, fault: Fault) -> str:
        self._away(0.0, self._its_broker().kill_and_start)
        return "kill the broker"

    def _delay(self, fault: Fault) -> str:
        self._its_broker().proxy.delay(fault.seconds, LATE)
        return f"delay by {LATE:g} s for {fault.seconds:.1f} s"

    def _cut(self, fault: Fault) -> str:
        self._its_broker().proxy.cut(fault.seconds)
        self._away(fault.seconds, lambda: None)
        return f"cut for {fault.seconds:.1f} s"

    def _reset(self, fault: Fault) -> str:
        return f"reset {self._its_broker().proxy.reset()} connections"

    def _restart(self, fault: Fault) -> str:
        name = self._connectors[int(fault.choice * len(self._connectors))]
        path = f"/connectors/{name}/restart?includeTasks=true"

        def ask() -> None:
            self._cluster.request("POST", path)

        self._later(0.0, ask)
        return f"restart {name}"

    def _hit_origin(self, fault: Fault) -> str:
        hit = self._of_origin
        assert hit is not None, "an origin fault needs connectors with origins"
        self._later(0.0, lambda: hit(fault))
        return fault.kind

    def _victim(self, fault: Fault) -> tuple[psutil.Process | None, str]:
        found = [each for each in processes(self._cluster, fault.process) if each[0] in self._workers]
        if not found:
            return None, f"{fault.process} (none at the moment)"
        worker, process = found[int(fault.choice * len(found))]
        return process, f"{fault.process}, process {process.pid}, of worker {worker.name}"

    def _its_broker(self) -> FaultyBroker:
        assert self._broker is not None, "a broker fault needs a FaultyBroker"
        return self._broker

    def _away(self, seconds: float, restore: Callable[[], None]) -> None:
        begin = time.time()

        def undo() -> None:
            restore()
            self.away.append((begin, time.time()))

        self._later(seconds, undo)

    def _later(self, seconds: float, undo: Callable[[], None]) -> None:
        """Call ``undo`` on a thread after some seconds, or at once if the run has failed and no more faults come."""

        def work() -> None:
            try:
                self._ended.wait(seconds)
                undo()
            except BaseException as error:
                self.failure = error

        thread = threading.Thread(target=work, name="fault")
        self._undoing.append(thread)
        thread.start()


def _thaw(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGCONT)


_KINDS: dict[str, Callable[[Faults, Fault], str]] = {
    "kill": Faults._kill,
    "freeze": Faults._freeze,
    "broker-freeze": Faults._freeze_broker,
    "broker-kill": Faults._kill_broker,
    "delay": Faults._delay,
    "cut": Faults._cut,
    "reset": Faults._reset,
    "restart": Faults._restart,
    **dict.fromkeys(OF_ORIGINS, Faults._hit_origin),
}
