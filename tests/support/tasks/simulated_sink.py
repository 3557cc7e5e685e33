"""A sink's machine with a simulated consumer and task, for scenarios; its lines show what the loop would do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition
from penstock.pipeline.sink import actions, events
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.machine import SinkMachine
from penstock.pipeline.sink.state import Closing, Idle, Paused, Putting, Retrying, SinkLoopSettings

Positions = Mapping[TopicPartition, int]


class SimulatedSink:
    """Carries out the actions as ``SinkLoop`` does; ``say`` gets a line for each action and for each outcome."""

    def __init__(self, say: Callable[[str], None], settings: SinkLoopSettings, elsewhere: bool = False) -> None:
        self.machine = SinkMachine(settings)
        self.now = 0.0
        self.seen: set[tuple[type, type]] = set()
        """Each phase with each event that it received."""
        self.records: deque[FetchedBatch] = deque()
        self.puts: deque[events.PutEnded] = deque()
        self.requests: dict[str, list[events.TaskRequest]] = {}
        """Requests that the task makes during its next call of each method."""
        self.fetching: list[events.SinkEvent] = []
        """Events that happen during the next fetch."""
        self.pre_commits: deque[Exception | Positions] = deque()
        self.letters: deque[bool] = deque()
        self.failing: set[str] = set()
        """Methods of the task, or steps of the loop, whose next call raises."""
        self.delayed: list[events.SinkEvent] = []
        """Events that happen while a record waits for the next attempt to convert it."""
        self.started = False
        """Whether the consumer can seek."""
        self._say, self._elsewhere, self._depth = say, elsewhere, 0
        self.running = False
        self.behind: FetchedBatch | None = None

    def tell(self, text: str) -> None:
        self._say("  " * self._depth + text)

    def happen(self, event: events.SinkEvent) -> None:
        """Give the machine the event, and carry out its actions."""
        self.seen.add((type(self.machine.state.phase), type(event)))
        following = self.machine.step(event, self.now)
        failure: Exception | None = None
        self._depth += 1
        try:
            for action in following:
                if failure is None or isinstance(action, actions.CloseTask):
                    try:
                        self.tell(described_action(action))
                        self.carry_out(action)
                    except RuntimeError as e:
                        failure = failure or e
        finally:
            self._depth -= 1
        if failure is not None:
            raise failure

    def outcome(self, event: events.SinkEvent, method: str = "") -> None:
        """Give the machine the requests that the task makes during the method, and then the event."""
        for request in self.requests.pop(method, []):
            self.tell(f"→ {described_event(request)}")
            self.happen(request)
        self.tell(f"→ {described_event(event)}")
        self.happen(event)

    def rebalance(self, event: events.Rebalance) -> None:
        """Handle a rebalance in the consumer's callback."""
        try:
            self.happen(event)
        except RuntimeError as e:
            self.outcome(events.FailureFound(e))

    def _raise_if_failing(self, method: str) -> None:
        if method in self.failing:
            self.failing.discard(method)
            raise RuntimeError(f"{method} has failed")

    def carry_out(self, action: actions.SinkAction) -> None:
        match action:
            case actions.ContinueTurn():
                self.happen(events.TurnContinued())
            case actions.FetchRecords():
                self.fetch()
            case actions.SeekPartition(partition, offset):
                if self.started:
                    self.outcome(events.PartitionSought(partition, offset))
                self.started = True
            case actions.LookUpStarts(partitions):
                self.outcome(events.StartsFound(partitions, dict.fromkeys(partitions, 0)))
            case actions.ReopenPartitions(partitions):
                self.outcome(events.StartsFound(partitions, dict.fromkeys(partitions, 0)))
            case actions.ConvertBatch(batch):
                while self.delayed:
                    self.outcome(self.delayed.pop(0))
                self._raise_if_failing("convert")
                self.outcome(events.Converted(replace(batch, converted=True)))
            case actions.PutBatch(batch):
                self.running = True
                if not self._elsewhere:
                    self.await_put()
            case actions.PutBehind(batch):
                try:
                    self._raise_if_failing("put-behind")
                    self.behind = batch
                except RuntimeError as e:
                    self.outcome(events.FailureFound(e))
            case actions.AwaitPut():
                self.await_put()
            case actions.AbandonPuts():
                self.running, self.behind = False, None
            case actions.OpenTask(partitions):
                self._raise_if_failing("open")
                self.outcome(events.TaskOpened(partitions), "open")
            case actions.CloseTask(partitions):
                try:
                    self._raise_if_failing("close")
                finally:
                    self.outcome(events.TaskClosed(partitions), "close")
            case actions.BeginCommit(partitions, closing):
                if self.letters and not self.letters.popleft():
                    self.tell("→ dead letters have not arrived")
                else:
                    self.outcome(events.LettersArrived(partitions, closing))
            case actions.AskForOffsets(offsets, closing):
                self._pre_commit(offsets, closing)
            case actions.CommitOffsets(offsets, closing):
                if closing:
                    self.outcome(events.CommitAnswered(offsets, closing=True))
            case actions.FailTask(error):
                raise error
            case (
                actions.PausePartitions()
                | actions.ResumePartitions()
                | actions.AssignPartitions()
                | actions.LookForStandstill()
                | actions.StartBatch()
                | actions.PrepareBatch()
                | actions.FinishBatch()
                | actions.ReportCommit()
                | actions.ReportPaused()
                | actions.ReportRunning()
                | actions.LogMessage()
                | actions.LogRetry()
            ):
                pass
            case _:
                assert_never(action)

    def fetch(self) -> None:
        happening, self.fetching = self.fetching, []
        for event in happening:
            if isinstance(event, events.PartitionsAssigned | events.PartitionsRevoked):
                self.tell(f"→ {described_event(event)}")
                self.rebalance(event)
            else:
                self.outcome(event)
        batch = self.records.popleft() if self.records else None
        self.outcome(events.Fetched(batch, drained=not self.records), "fetch")

    def await_put(self) -> None:
        if not self.running:
            return
        event = self.puts.popleft() if self.puts else events.PutTaken()
        behind, self.behind = self.behind, None
        self.running = isinstance(event, events.PutTaken) and event.clear and behind is not None
        self.outcome(event, "put")

    def _pre_commit(self, offsets: Positions, closing: bool) -> None:
        answer = self.pre_commits.popleft() if self.pre_commits else offsets
        if isinstance(answer, Exception):
            self.outcome(events.PreCommitFailed(tuple(offsets), closing), "flush")
            return
        if self.letters and not self.letters.popleft():
            self.outcome(events.LettersLost(tuple(offsets)), "flush")
            raise RuntimeError("a dead letter was not produced")
        self.outcome(events.OffsetsAgreed(offsets, answer, closing), "flush")


def records(ranges: Mapping[TopicPartition, tuple[int, int]]) -> FetchedBatch:
    """Return records of partitions, from the first to the last offset of each."""
    rows = [(name, offset) for name, (first, last) in ranges.items() for offset in range(first, last + 1)]
    topics, numbers = [name.topic for name, _ in rows], [name.partition for name, _ in rows]
    origin = SinkOrigin(topics, numbers, [offset for _, offset in rows], ["CreateTime"] * len(rows))
    return FetchedBatch.of(Batch.of(topics, [b""] * len(rows), origin=origin))


# -- words


def described(sink: SimulatedSink) -> str:
    """Describe the phase and everything that is not in its usual state."""
    state = sink.machine.state
    match state.phase:
        case Idle():
            words = ["Idle"]
        case Putting(batch, retrying, paused, converting, behind):
            words = [f"Putting {_batch(batch)}"]
            words += ["again"] * retrying + ["paused"] * paused + ["converting"] * converting
            words += [f"behind it {_batch(behind)}"] if behind is not None else []
        case Retrying(batch, at):
            words = [f"Retrying {_batch(batch)} at {at:g} s"]
        case Paused(None):
            words = ["Paused"]
        case Paused(batch, at):
            words = [f"Paused, retrying {_batch(batch)} at {at:g} s"]
        case Closing():
            words = ["Closing"]
        case _:
            assert_never(state.phase)
    words += [f"{p}: taken {at}, committed {state.committed.get(p, '?')}" for p, at in sorted(state.taken.items())]
    words += [f"assigned {_names(state.assigned - state.taken.keys())}"] if state.assigned - state.taken.keys() else []
    words += [f"task paused {_names(state.paused)}"] if state.paused else []
    words += [f"rewinds {_offsets(state.rewinds)}"] if state.rewinds else []
    words += [f"recreated {_names(state.recreated)}"] if state.recreated else []
    words += [f"ahead {_batch(batch)}" for batch in state.ahead]
    words += ["commit in flight"] if state.commit_sent_at is not None else []
    words += ["commit requested"] if state.commit_requested else []
    words += [f"waits: {described_event(state.rebalance)}"] if state.rebalance is not None else []
    words += [f"failing: {state.failure}"] if state.failure is not None else []
    return "= " + "; ".join(words)


def described_action(action: actions.SinkAction) -> str:
    match action:
        case actions.ContinueTurn():
            return "continue"
        case actions.FetchRecords(seconds, ahead):
            return "fetch ahead" if ahead else f"fetch, waiting {seconds:g} s at most"
        case actions.PausePartitions(partitions):
            return f"pause {_names(partitions)}"
        case actions.ResumePartitions(partitions):
            return f"resume {_names(partitions)}"
        case actions.SeekPartition(partition, offset):
            return f"seek {partition} to {offset}"
        case actions.LookUpStarts(partitions):
            return f"look up starts of {_names(partitions)}"
        case actions.ReopenPartitions(partitions):
            return f"reopen {_names(partitions)}"
        case actions.AssignPartitions(offsets, resumed, paused):
            return f"assign {_offsets(offsets)}; resume {_names(resumed)}; pause {_names(paused)}"
        case actions.LookForStandstill(positions):
            return f"look whether {_offsets(positions)} stand still"
        case actions.StartBatch(batch):
            return f"start {_batch(batch)}"
        case actions.ConvertBatch(batch):
            return f"convert {_batch(batch)}"
        case actions.PutBatch(batch):
            return f"put {_batch(batch)}"
        case actions.PutBehind(batch):
            return f"put behind {_batch(batch)}"
        case actions.PrepareBatch(batch):
            return f"prepare {_batch(batch)}"
        case actions.AwaitPut():
            return "await put"
        case actions.AbandonPuts():
            return "abandon puts"
        case actions.FinishBatch():
            return "finish batch"
        case actions.OpenTask(partitions):
            return f"open {_names(partitions)}"
        case actions.CloseTask(partitions):
            return f"close {_names(partitions)}"
        case actions.BeginCommit(partitions, closing):
            return f"commit {_names(partitions)}" + " before closing" * closing
        case actions.AskForOffsets(offsets):
            return f"ask for offsets up to {_offsets(offsets)}"
        case actions.CommitOffsets(offsets, closing):
            return f"write {_offsets(offsets)}" + " and wait" * closing
        case actions.ReportCommit(result, seconds, error):
            return f"report commit {result.name} after {seconds:g} s" + (f": {error}" if error else "")
        case actions.ReportPaused():
            return "report paused"
        case actions.ReportRunning():
            return "report running"
        case actions.LogMessage(_, text):
            return f"log: {text}"
        case actions.LogRetry(error, again):
            return f"log retry: {error}" + ", again" * again
        case actions.FailTask(error):
            return f"fail: {error}"
        case _:
            assert_never(action)


def described_event(event: events.SinkEvent) -> str:
    match event:
        case events.Fetched(batch):
            return f"fetched {_batch(batch)}"
        case events.FailureFound(error) | events.PutFailed(error):
            return f"{_words(event)}: {error}"
        case events.PartitionsAssigned(offsets):
            return f"assigned {_names(offsets)}"
        case events.PartitionsRevoked(partitions, lost):
            return f"{'lost' if lost else 'revoked'} {_names(partitions)}"
        case events.StartsFound(_, starts):
            return f"starts found {_offsets(starts)}"
        case events.TopicsRecreated(partitions):
            return f"topics recreated {_names(partitions)}"
        case events.CommitRequested():
            return "task requests: commit"
        case events.PutTaken(clear, quick):
            return "put taken" + ", clear" * clear + ", quick" * quick
        case events.PutRefused(error):
            return f"put refused: {error}"
        case events.FlowRequested(flow, partitions):
            return f"task requests: {flow.value} {_names(partitions)}"
        case events.RewindRequested(offsets):
            return f"task requests: rewind {_offsets(offsets)}"
        case events.TimeoutRequested(seconds):
            return f"task requests: timeout {seconds:g} s"
        case events.OffsetsAgreed(_, agreed):
            return f"offsets agreed {_offsets(agreed)}"
        case events.CommitAnswered(written, error):
            return f"commit answered: {error or _offsets(written)}"
        case _:
            return _words(event)


def _words(event: events.SinkEvent) -> str:
    name = type(event).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()


def _names(partitions: Iterable[TopicPartition]) -> str:
    return " ".join(map(str, sorted(partitions))) or "nothing"


def _offsets(offsets: Positions) -> str:
    return " ".join(f"{partition}@{offset}" for partition, offset in sorted(offsets.items())) or "nothing"


def _batch(batch: FetchedBatch | None) -> str:
    """Describe the offsets of each partition's records, such as ``t-0:3..7``."""
    if batch is None:
        return "nothing"
    words = []
    for partition, end in sorted(batch.ends.items()):
        first = batch.first_offset(partition)
        words.append(f"{partition}:{f'{first}..{end - 1}' if first is not None else f'none before {end}'}")
    return " ".join(words)
