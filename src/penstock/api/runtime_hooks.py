"""Agreements of source tasks and connectors with the runtime beyond ``SourceTask`` and ``Connector``.

Provisional: for tasks that the runtime makes itself, and for connectors that are shipped with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from penstock.api.batch import Batch
from penstock.api.source import SourceTask


class RuntimeHooks:
    """Second base of a source task's class that agrees more with the runtime than ``SourceTask`` says.

    The runtime looks for this base, not for the names of its members: a task without it may use them for something
    else. The defaults are those of a task that does not have it.
    """

    samples_acknowledgements: ClassVar[bool] = False
    """Whether ``commit_records`` can do with fewer records in transactions: the first and the last of each partition,
    and some between, where the offsets of the others follow from theirs.
    """
    stores_dropped: ClassVar[bool] = False
    """Whether the offsets of records that were dropped are committed, too, though no later record of their source
    partition was sent.
    """
    takes_timestamps: ClassVar[bool] = False
    """Whether ``commit_records_at`` is called in place of ``commit_records``."""
    polls_aside: ClassVar[bool] = False
    """Whether ``poll`` waits only a moment for a poll that goes on elsewhere, and may return None before that has
    ended. The members below are for these tasks.
    """

    checks: ClassVar[bool] = False
    """Whether ``checked`` is the first step of every batch."""

    def checked(self, batch: Batch) -> Batch:
        """Return the batch, or raise for a record in it that can't be sent; alone, it is one that has failed.

        Called only with ``checks``, before the transforms, and again with parts of a batch for which it has raised.
        """
        return batch

    def uncarried_offsets(self) -> Sequence[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return source partitions with offsets that are to be committed though no record carries them.

        None in place of an offset removes the committed one. Called after each ``poll``, once its records have been
        sent, by the same thread. ``OffsetReader`` returns them once they are committed, which is not before the records
        that were returned earlier have arrived.
        """
        return ()

    @property
    def begun(self) -> bool:
        """Whether a poll has been begun whose result has not been taken."""
        return False

    @property
    def awaited(self) -> bool:
        """Whether such a poll may still bring records that are to be sent before the task ends."""
        return False

    def poll_begun(self) -> Batch | None:
        """``poll`` without beginning another poll; called while the task is to pause or to end."""
        return None

    def polling_since(self) -> float | None:
        """Return since when the poll that was begun has not ended, by ``time.monotonic``; None if there is none.

        Called by another thread than ``poll``.
        """
        return None

    def end_polls(self, stop: Callable[[], None]) -> None:
        """Begin no poll from now on, and call ``stop``, which calls the method of that name once, if one must be ended.

        Called once, when the task is to stop, by another thread than ``poll``.
        """
        stop()

    def commit_records_at(
        self,
        batch: Batch,
        topics: Sequence[str],
        partitions: Sequence[int],
        offsets: Sequence[int],
        timestamps: Sequence[int],
    ) -> None:
        """``commit_records`` of records that Kafka has acknowledged, with the timestamps it gave them, in milliseconds.

        Called only with ``takes_timestamps``; ``commit_records`` is called for records that were dropped.
        """


class ShowsRuntimeSettings:
    """Second base of a connector's class whose definition begins with the settings that every connector has.

    The runtime puts them before those of ``config_def``, which win where both define a name. Java: the connectors whose
    configuration extends ``ConnectorConfig``.
    """


NO_HOOKS = RuntimeHooks()


def hooks_of(task: SourceTask) -> RuntimeHooks:
    """Return the hooks of a task, those that do nothing if it has none."""
    return task if isinstance(task, RuntimeHooks) else NO_HOOKS
