"""Rows from looks at the Kafka cluster of a sink: topics that do not exist, and lag that does not move.

A look has the offsets at one time; ``SinkWatch`` compares each with the one before. The end of a partition may lie
behind markers of transactions alone, which no sink commits. So a partition with lag is only a suspect until somebody
has read a record from there (``confirmed``).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.core.attention.rows import NextStep, Row, instant

STALE_MS = 120_000
"""Age of the last look from which on what it has found counts as unknown."""
SHOWN = 3
"""Partitions that a row names."""

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Position:
    """Offsets of a partition: the committed one, or None, the first one and the end."""

    committed: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SinkLook:
    """The topics and offsets of a sink at one time."""

    positions: Mapping[Partition, Position]
    missing: tuple[str, ...] = ()
    """Subscribed topics that do not exist."""
    unmatched: str | None = None
    """``topics.regex``, if no topic matches it."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Reasons why topics or partitions of them could not be read, by topic."""


@dataclass(slots=True)
class _Standing:
    at: int
    since_ms: int
    first_end: int
    end: int
    read_to: int = -1
    """The end up to which there are known to be no records."""
    confirmed: bool = False


@dataclass(slots=True)
class SinkWatch:
    """Observations of one sink, by the worker that runs its connector."""

    name: str
    group: str
    began_ms: int
    still_ms: int
    """Time without a commit from which on lag counts as a standstill."""
    skips_old: bool = False
    """True if partitions without a committed offset are read from their end (``auto.offset.reset=latest``)."""
    _looked_ms: int | None = None
    _failed: tuple[int, str] | None = None
    """Time since which looks fail, and the last reason."""
    _look: SinkLook | None = None
    _missing_since: dict[str, int] = field(default_factory=dict)
    _unknown_since: dict[str, int] = field(default_factory=dict)
    _standing: dict[Partition, _Standing] = field(default_factory=dict)
    _moved_ms: int | None = None
    """Time of the last look that found another committed offset than the one before."""

    def looked(self, look: SinkLook, now_ms: int) -> None:
        self._look, self._looked_ms, self._failed = look, now_ms, None
        missing = (*look.missing, *([look.unmatched] if look.unmatched else []))
        self._missing_since = {topic: self._missing_since.get(topic, now_ms) for topic in missing}
        self._unknown_since = {topic: self._unknown_since.get(topic, now_ms) for topic in look.unknown}
        before, self._standing = self._standing, {}
        for place, position in look.positions.items():
            known = before.get(place)
            first_end = position.end if known is None else known.first_end
            at = self._reached(position, first_end)
            if known is not None and known.at != at:
                self._moved_ms = now_ms
            same = known is not None and known.at == at and known.end > at
            since = known.since_ms if known is not None and same else now_ms
            standing = _Standing(at, since, first_end, position.end)
            if known is not None and same:
                standing.read_to, standing.confirmed = known.read_to, known.confirmed
            self._standing[place] = standing

    def failed(self, reason: str, now_ms: int) -> None:
        self._failed = (self._failed[0] if self._failed else now_ms, reason)

    def suspects(self, now_ms: int) -> dict[Partition, int]:
        """Return the positions of partitions that stand still with lag, in which nobody has looked for records yet."""
        return {
            place: each.at
            for place, each in self._standing.items()
            if each.at < each.end
            and now_ms - each.since_ms >= self.still_ms
            and not each.confirmed
            and each.read_to < each.end
        }

    def confirmed(self, place: Partition, has_records: bool) -> None:
        """Note whether there are records between the position of a suspect and its end."""
        if (standing := self._standing.get(place)) is not None:
            standing.confirmed = has_records
            standing.read_to = -1 if has_records else standing.end

    def rows(self, now_ms: int) -> Iterator[Row]:
        unknown = self._unknown(now_ms)
        if unknown is not None:
            yield unknown
            return
        look = self._look
        if look is None:
            return
        for topic, reason in sorted(look.unknown.items()):
            why = f"The offsets of topic {topic} could not be read: {reason}"
            step = self._logs("See whether its brokers are up, and whether its user may read it")
            yield Row("unknown", why, step, self.name, since_ms=self._unknown_since[topic])
        yield from self._missing(look)
        yield from self._still(now_ms)

    def _reached(self, position: Position, first_end: int) -> int:
        if position.committed is not None:
            return max(position.committed, position.start)  # what is deleted is not waited for
        return max(first_end if self.skips_old else position.start, position.start)

    def _unknown(self, now_ms: int) -> Row | None:
        if self._failed is not None:
            since, reason = self._failed
        elif now_ms - (self.began_ms if self._looked_ms is None else self._looked_ms) >= STALE_MS:
            since, reason = self._looked_ms or self.began_ms, "the worker has not come to it"
        else:
            return None
        read = "have never been read" if self._looked_ms is None else f"were last read at {instant(self._looked_ms)}"
        why = f"Its topics and its lag are not known: {reason} (they {read})"
        step = self._logs("See whether the brokers of its consumer can be reached")
        return Row("unknown", why, step, self.name, since_ms=since)

    def _missing(self, look: SinkLook) -> Iterator[Row]:
        quoted = shlex.quote(self.name)
        step = NextStep("Create the topics, or correct the setting", f"penstock get config {quoted}", "configuration")
        if look.missing:
            since = min(self._missing_since[topic] for topic in look.missing)
            listed = _listed(look.missing)
            topics = f"topic {listed} does" if len(look.missing) == 1 else f"topics {listed} do"
            why = f"The {topics} not exist on the cluster of its consumer, so nothing is read of {_it(look.missing)}"
            yield Row("missing-topics", why, step, self.name, since_ms=since)
        if look.unmatched:
            why = f"No topic on the cluster of its consumer matches topics.regex {look.unmatched}"
            yield Row("missing-topics", why, step, self.name, since_ms=self._missing_since[look.unmatched])

    def _still(self, now_ms: int) -> Iterator[Row]:
        still = {place: each for place, each in self._standing.items() if each.confirmed}
        if not still:
            return
        waiting = sum(each.end - each.at for each in still.values())
        since = min(each.since_ms for each in still.values())
        named = _listed(
            [f"{topic}-{number} at {each.at:,} of {each.end:,}" for (topic, number), each in sorted(still.items())]
        )
        count = "1 partition" if len(still) == 1 else f"{len(still)} partitions"
        if self._moved_ms is not None and now_ms - self._moved_ms < self.still_ms:
            kind = "partition-standstill"
            why = f"Its group {self.group} commits nothing for {count}, while others move: {named}"
        else:
            kind, why = "standstill", f"Its group {self.group} commits nothing, {waiting:,} records wait: {named}"
        step = self._logs("See in its log and its overview what its tasks wait for")
        yield Row(kind, why, step, self.name, since_ms=since)

    def _logs(self, text: str) -> NextStep:
        return NextStep(text, f"penstock logs {shlex.quote(self.name)}", "logs")


def _listed(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _it(names: tuple[str, ...]) -> str:
    return "it" if len(names) == 1 else "them"
