"""Parts of the sites of a soak: what each is, what reads its output, and how it begins again in a recreated origin."""

import threading
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from faults.plan import Fault
from soak.cluster import TO_SETTLE, Cluster, states, status
from support.waiting import until

STEP = 0.2
"""Seconds between two turns of the feeder."""
FAILED_SECONDS = 300.0
"""Seconds that a connector may take to report that its origin was replaced; it checks every 30 s."""
_MANY = 5_000
"""Number of records in one call."""
CHANGED = "on.origin.changed"
MESSAGES = (CHANGED, "The replication slot ")
"""Parts of the message of a connector that stops because its origin was recreated."""


class Site(Protocol):
    """A connector, the input that feeds it, and its output."""

    name: str
    lock: threading.Lock
    """Lock held while the site is fed, or hit by a fault that excludes others."""

    def config(self) -> dict[str, str]: ...

    def feed(self) -> None:
        """Produce input. Called every STEP seconds by one thread, with ``lock``."""

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        """Inject a fault, and return when it is over. Called with ``lock``."""

    def missing(self) -> int:
        """Return the number of expected records that have not arrived."""

    def judge(self) -> list[str]:
        """Describe everything that is wrong. Called when nothing is missing any more, or after a while."""

    def close(self) -> None: ...


class Reader:
    """Reads a topic's committed records, and keeps all values so far, partition by partition."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 1) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
        }
        self.values: list[str] = []
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        self._lock = threading.Lock()

    def read(self, to_the_end: bool = False) -> list[str]:
        """Read the records that have arrived. ``to_the_end``: nothing is written any more; read everything."""
        with self._lock:
            while messages := self._consumer.consume(_MANY, 5.0 if to_the_end else 0.3):
                for message in messages:
                    error = message.error()
                    if error is None:
                        self.values.append((message.value() or b"").decode())
                    elif error.fatal():
                        raise KafkaException(error)
                if len(messages) < _MANY and not to_the_end:
                    break
            return self.values

    def close(self) -> None:
        self._consumer.close()


def twice(what: str, values: Sequence[str]) -> list[str]:
    found = [value for value, count in Counter(values).items() if count > 1]
    return [f"{what}: {len(found)} values are duplicated, the first is {found[0]}"] if found else []


def lost(what: str, sent: Sequence[str], values: Sequence[str]) -> list[str]:
    found = sorted(set(sent) - set(values))
    return [f"{what}: {len(found)} values are lost, the first is {found[0]}"] if found else []


@dataclass(slots=True)
class Shared:
    """The common part of all sites."""

    bootstrap: str
    folder: Path
    exactly_once: bool
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    lock: threading.Lock = field(default_factory=threading.Lock)
    stops: list[str] = field(default_factory=list)
    """Messages of connectors that stopped as expected."""


def failed(cluster: Cluster, name: str) -> str:
    """Return the traces of failed tasks."""
    tasks = status(cluster, name)["tasks"]
    return "".join(task.get("trace", "") for task in tasks if task["state"] == "FAILED")


def positions(cluster: Cluster, name: str) -> list[Any]:
    """Return the committed offsets of a connector."""
    found: list[Any] = cluster.request("GET", f"/connectors/{name}/offsets").json()["offsets"]
    return found


def says_why(said: str) -> bool:
    """Return whether this is the message of a recreated origin."""
    return any(message in said for message in MESSAGES)


def restart_where_it_stopped(shared: Shared, cluster: Cluster, site: Site) -> None:
    """Wait until a connector reports that its origin was replaced, let it begin again, and reset the setting."""
    name = site.name
    said = until(lambda: failed(cluster, name), f"{name} says that its origin was recreated", FAILED_SECONDS)
    assert says_why(said), f"{name} has stopped with an unexpected message: {said}"
    with shared.lock:
        shared.stops.append(said)
    cluster.request("PUT", f"/connectors/{name}/config", {**site.config(), CHANGED: "restart"})
    until(lambda: not site.missing(), f"all of {name} after it has begun again", TO_SETTLE)
    # A task that is lost before it has committed a position in the new origin would begin at that in the old one.
    before = positions(cluster, name)
    site.feed()
    until(lambda: not site.missing(), f"all of {name} after it has got more", TO_SETTLE)
    until(lambda: positions(cluster, name) not in ([], before), f"a position of {name} in its new origin", TO_SETTLE)
    cluster.request("PUT", f"/connectors/{name}/config", site.config())
    until(lambda: states(cluster, name) == ["RUNNING"] * 2, f"{name} running again", TO_SETTLE)
