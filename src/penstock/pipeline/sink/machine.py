"""A sink task as a pure machine: events in, actions out. Java: ``WorkerSinkTask``.

The loop (``loop``) calls ``step(event, now)`` for one event after the other and carries out the actions. Nothing here
reads a clock, calls a consumer or a task, or starts a thread. The scenarios in ``tests/pipeline/sink/scenarios`` show
every phase with every event.

One put runs at a time, and one may be begun behind it. While a put runs elsewhere, records are fetched ahead; all else
waits for its end: commits, rebalances, rewinds, a pause, a stop. While records are to be put again the consumer is
polled to stay in its group. Without records there is a put each second, and when the task has asked for one by
``timeout``; also while the connector is paused.

Two subjects have a file of their own: partitions (``assignment``), and positions and commits (``positions``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from penstock.pipeline.sink import actions, events
from penstock.pipeline.sink.assignment import SinkPartitions
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.positions import SinkPositions
from penstock.pipeline.sink.state import (
    Closing,
    Idle,
    Paused,
    Putting,
    Retrying,
    SinkLoopSettings,
    SinkState,
)

TURN_SECONDS = 0.1
MIN_WAIT_SECONDS = 0.001
"""The consumer waits for whole milliseconds, and not at all for less: the loop would spin."""
IDLE_PUT_SECONDS = 1.0
RETRY_SECONDS = 0.5


class SinkMachine:
    """The state machine of a sink task. Others read ``state``; it changes by ``step`` alone."""

    def __init__(self, settings: SinkLoopSettings) -> None:
        self.settings = settings
        self.state = SinkState()
        self._positions = SinkPositions(settings, self.state, self._emit)
        self._partitions = SinkPartitions(settings, self.state, self._positions, self._emit)
        self._actions: list[actions.SinkAction] = []
        self._now = 0.0

    def step(self, event: events.SinkEvent, now: float) -> list[actions.SinkAction]:
        """Take one event at this time (seconds, never decreasing) and return the actions to carry out, in order."""
        self._now = now
        self._handle(event)
        following, self._actions = self._actions, []
        return following

    def _emit(self, action: actions.SinkAction) -> None:
        self._actions.append(action)

    def _handle(self, event: events.SinkEvent) -> None:
        state, positions = self.state, self._positions
        match event:
            case events.Ticked():
                self._tick()
            case events.TurnContinued():
                self._fetch()
            case events.Fetched(batch, drained):
                state.drained = drained
                self._fetched(batch)
            case events.Converted(batch):
                assert isinstance(state.phase, Putting)
                self._put(batch, state.phase.retrying)
            case events.PutTaken() | events.PutRefused() | events.PutFailed() | events.PutUnconverted():
                self._put_ended(event)
            case events.FailureFound(error):
                self._failed(error)
            case events.PartitionsAssigned() | events.PartitionsRevoked():
                self._rebalance_when_free(event)
            case events.StartsFound():
                self._partitions.open(event)
            case events.TopicsRecreated(partitions):
                state.recreated |= partitions & state.assigned
            case events.TaskOpened(partitions):
                self._partitions.assign(partitions)
            case events.TaskClosed(partitions):
                self._partitions.closed(partitions)
            case events.PartitionSought(partition, offset):
                self._partitions.sought(partition, offset)
            case events.ConversionDelayed():
                positions.check_timeout(self._now)
                positions.begin_if_due(self._now)
            case events.PauseWanted() | events.ResumeWanted():
                state.pause_wanted = isinstance(event, events.PauseWanted)
                self._follow_pause()
            case events.StopWanted():
                self._stop_when_free()
            case events.LoopBroken():
                self._break_off()
            case events.FlowRequested():
                self._partitions.apply_flow(event)
            case events.RewindRequested(offsets):
                state.rewinds.update(offsets)
            case events.TimeoutRequested(seconds):
                state.timeout = seconds
            case events.CommitRequested():
                state.commit_requested = True
            case events.LettersArrived(partitions, closing):
                positions.ask(partitions, closing)
            case events.LettersLost(partitions):
                positions.forget(partitions)
            case events.OffsetsAgreed():
                positions.agreed(event, self._now)
            case events.PreCommitFailed():
                positions.failed(event)
            case events.CommitAnswered():
                positions.answered(event, self._now)
            case _:
                assert_never(event)

    # -- turns

    def _tick(self) -> None:
        state, now = self.state, self._now
        self._positions.check_timeout(now)
        match state.phase:
            case Closing():
                pass
            case Putting():
                if state.failure is None and not self._due():
                    self._fetch_ahead(state.phase)
                self._emit(actions.AwaitPut())
            case Idle() | Retrying() | Paused():
                if state.failure is not None:
                    self._emit(actions.FailTask(state.failure))
                    return
                self._partitions.reopen()
                self._positions.begin_if_due(now)
                self._partitions.seek()
                self._look()
                if self._actions:
                    self._emit(actions.ContinueTurn())
                else:
                    self._fetch()
            case _:
                assert_never(state.phase)

    def _due(self) -> bool:
        """Return whether something waits for the end of the put that runs."""
        state = self.state
        waits = bool(state.rewinds or state.recreated)
        return waits or state.pause_wanted != state.connector_paused or self._positions.due(self._now)

    def _fetch_ahead(self, phase: Putting) -> None:
        if not self.state.held and phase.batch is not None and not self.state.ahead:
            self._emit(actions.FetchRecords(0.0, ahead=True))

    def _fetch(self) -> None:
        """Take the records that were fetched ahead, if they may be put now; otherwise poll the consumer."""
        state = self.state
        if not state.retrying and state.timeout is not None:
            if state.timeout > 0:  # as in Java; with 0 a task that says so in each put would be called without a break
                state.next_put = min(state.next_put, self._now + state.timeout)
            state.timeout = None
        if not self._start_ready():
            self._emit(actions.FetchRecords(self._until_put()))

    def _start_ready(self) -> bool:
        """Start the first records that wait and may be put now; return whether there are any."""
        state = self.state
        if isinstance(state.phase, Idle):
            held = state.paused | state.rewinds.keys()
            for i, batch in enumerate(state.ahead):
                waiting, ready = batch.divided(held)
                if ready is not None:
                    rest = () if waiting is None else (waiting,)
                    state.ahead = (*state.ahead[:i], *rest, *state.ahead[i + 1 :])
                    self._start(ready)
                    return True
        return False

    def _until_put(self) -> float:
        """Return how long to wait for records until something is to be put, a turn at most."""
        match self.state.phase:
            case Retrying(_, at) | Paused(FetchedBatch(), at):
                return min(max(at - self._now, 0.0), TURN_SECONDS)
        left = self.state.next_put - self._now
        return min(max(left, MIN_WAIT_SECONDS), TURN_SECONDS) if left > 0 else 0.0

    def _fetched(self, batch: FetchedBatch | None) -> None:
        state = self.state
        if batch is not None and state.rewinds:  # those will be fetched from elsewhere
            batch = batch.divided(state.rewinds.keys())[1]
        match state.phase:
            case Closing():
                pass
            case Putting():
                if batch is not None:
                    self._keep_ahead(state.phase, batch)
            case Idle() | Retrying() | Paused():
                if state.failure is not None:
                    self._emit(actions.FailTask(state.failure))
                else:
                    state.ahead += () if batch is None else (batch,)
                    if not self._start_ready():
                        self._put_if_due()
            case _:
                assert_never(state.phase)

    def _keep_ahead(self, phase: Putting, batch: FetchedBatch) -> None:
        state = self.state
        if self.settings.puts_convert and state.quick and state.failure is None and not state.rewinds:
            state.phase = replace(phase, behind=batch)
            self._emit(actions.PutBehind(batch))
        else:
            state.ahead = (*state.ahead, batch)
            self._emit(actions.PrepareBatch(batch))

    def _look(self) -> None:
        """Look for partitions that stand still when the consumer had no more records, and all that it had are put."""
        state = self.state
        idle = isinstance(state.phase, Idle) and state.drained and not state.ahead
        if idle and self._now >= state.next_look:
            state.next_look = self._now + self.settings.look_interval
            fetched = state.fetchable - state.rewinds.keys()
            self._emit(actions.LookForStandstill({p: at for p, at in state.taken.items() if p in fetched}))

    # -- puts

    def _start(self, batch: FetchedBatch) -> None:
        self._emit(actions.StartBatch(batch))
        if self.settings.puts_convert:
            self._put(batch)
        else:
            self.state.phase = Putting(batch, converting=True)
            self._emit(actions.ConvertBatch(batch))

    def _put_if_due(self) -> None:
        match self.state.phase:
            case Retrying(batch, at) | Paused(FetchedBatch() as batch, at):
                if self._now >= at:
                    self._put(batch, retrying=True)
            case Idle() | Paused():
                if self._now >= self.state.next_put:
                    self._put(None)

    def _put(self, batch: FetchedBatch | None, retrying: bool = False) -> None:
        state = self.state
        state.next_put = self._now + IDLE_PUT_SECONDS
        state.phase = Putting(batch, retrying, state.connector_paused)
        self._emit(actions.PutBatch(batch))
        if batch is None or state.rebalance is not None or state.stop_wanted:
            self._emit(actions.AwaitPut())

    def _put_ended(self, event: events.PutEnded) -> None:
        state, phase = self.state, self.state.phase
        assert isinstance(phase, Putting)
        if phase.batch is not None:
            state.quick = isinstance(event, events.PutTaken) and event.quick
        match event:
            case events.PutTaken(clear):
                state.refused = False
                self._taken(phase)
                if phase.behind is not None and clear and state.failure is None:
                    self._emit(actions.StartBatch(phase.behind))
                    state.next_put = self._now + IDLE_PUT_SECONDS
                    state.phase = Putting(phase.behind)
                else:
                    self._put_behind_later(phase)
            case events.PutRefused(error, again):
                self._put_behind_later(phase)
                batch = phase.batch if again is None else again
                if batch is None or not len(batch):  # nothing is held back, and another such put follows
                    self._emit(actions.LogRetry(error, again=state.refused))
                    state.refused = True
                    self._taken(phase)
                else:
                    self._emit(actions.LogRetry(error, again=phase.retrying))
                    self._retry(phase, batch)
            case events.PutFailed(error):
                state.failure = state.failure or error
                state.phase = self._rest(phase)
            case events.PutUnconverted():
                assert phase.batch is not None
                self._put_behind_later(phase)
                state.phase = replace(phase, converting=True, behind=None)
                self._emit(actions.ConvertBatch(phase.batch))  # one by one, to find the record that fails
                return
            case _:
                assert_never(event)
        self._follow_put()

    def _put_behind_later(self, phase: Putting) -> None:
        """Keep the records of the put behind, which has done nothing."""
        if phase.behind is not None:
            self.state.ahead = (phase.behind, *self.state.ahead)

    def _taken(self, phase: Putting) -> None:
        self.state.phase = self._rest(phase)
        if phase.batch is not None:
            self._positions.take(phase.batch)
            self._emit(actions.FinishBatch())
            if phase.retrying and not phase.paused:
                self._emit(actions.ResumePartitions(self.state.fetchable))

    def _rest(self, phase: Putting) -> Idle | Paused:
        return Paused() if phase.paused else Idle()

    def _retry(self, phase: Putting, batch: FetchedBatch) -> None:
        state = self.state
        after, state.timeout = state.timeout, None
        at = self._now + (RETRY_SECONDS if after is None else after)
        state.phase = Paused(batch, at) if phase.paused else Retrying(batch, at)
        if not phase.retrying:
            self._emit(actions.PausePartitions(state.assigned))

    def _follow_put(self) -> None:
        """Do what has waited for the end of the put, or wait for the one that has begun behind it."""
        state = self.state
        if isinstance(state.phase, Putting):
            if state.rebalance is not None or state.stop_wanted or state.pause_wanted != state.connector_paused:
                self._emit(actions.AwaitPut())
            return
        if state.rebalance is not None:  # within a fetch, after which a failure fails the task
            waiting, state.rebalance = state.rebalance, None
            if state.failure is None or isinstance(waiting, events.PartitionsRevoked):
                self._partitions.rebalance(waiting)
        elif state.failure is not None:
            self._emit(actions.FailTask(state.failure))
        elif state.stop_wanted:
            self._close()
        else:
            self._follow_pause()

    # -- pauses, rewinds, the end

    def _follow_pause(self) -> None:
        """Pause or resume as is wanted, after the put that runs."""
        state = self.state
        match state.phase:
            case Putting():
                self._emit(actions.AwaitPut())
            case Idle() if state.pause_wanted:
                self._pause(Paused())
            case Retrying(batch, at) if state.pause_wanted:
                self._pause(Paused(batch, at))
            case Paused(batch, at) if not state.pause_wanted:
                if batch is None:
                    state.phase = Idle()
                    self._emit(actions.ResumePartitions(state.fetchable))
                else:
                    state.phase = Retrying(batch, at)
                self._emit(actions.ReportRunning())

    def _pause(self, phase: Paused) -> None:
        self.state.phase = phase
        self._emit(actions.PausePartitions(self.state.assigned))
        self._emit(actions.BeginCommit(tuple(sorted(self.state.assigned))))
        self._emit(actions.ReportPaused())

    def _failed(self, error: Exception) -> None:
        """Let the task fail after the fetch or the put that runs. A rebalance no longer waits for records that could
        not be converted within it.
        """
        state = self.state
        state.failure = state.failure or error
        if isinstance(state.phase, Putting) and state.phase.converting:
            state.phase = self._rest(state.phase)
            self._follow_put()

    def _stop_when_free(self) -> None:
        self.state.stop_wanted = True
        if isinstance(self.state.phase, Putting):
            self._emit(actions.AwaitPut())
        elif not isinstance(self.state.phase, Closing):
            self._close()

    def _break_off(self) -> None:
        if not isinstance(self.state.phase, Closing):
            self._emit(actions.AbandonPuts())
            self._close()

    def _close(self) -> None:
        """Commit what the task has taken, and close its partitions. Records that it has not taken are dropped."""
        state = self.state
        if state.batch is not None:
            self._emit(actions.FinishBatch())
        state.phase, state.ahead = Closing(), ()
        if state.assigned:
            self._partitions.revoke(events.PartitionsRevoked(tuple(sorted(state.assigned))))

    # -- rebalances

    def _rebalance_when_free(self, event: events.Rebalance) -> None:
        if isinstance(self.state.phase, Putting):
            self.state.rebalance = event
            self._emit(actions.AwaitPut())
        elif not isinstance(self.state.phase, Closing):
            self._partitions.rebalance(event)
