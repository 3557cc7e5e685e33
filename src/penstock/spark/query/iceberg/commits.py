"""Commits of a connector's batches to a table: each once, and only by the latest run.

pyiceberg's own commit tries again whenever another writer was faster. An append then never fails, so that a run that
was frozen would add its rows whatever its successor has done. So a commit is made below that: one request to the
catalog, which asserts that the branch is where it was found. After each failure the table is read again and judged by
its marks, before anything else is done:

1. The batch is there: it was committed after all, by this attempt or an earlier one.
2. The connector's last mark is the one from which this run goes on: others have committed meanwhile, or nobody has.
   Their commits are kept, and the batch is committed after them.
3. It is another one: a later run has taken over, or the table was rolled back. This run ends.

Two attempts of one batch can't both succeed, since both assert the same place of the branch. Nothing that an attempt of
unknown outcome may have committed is deleted.

A run never goes on behind what another one has done: a mark of a later run, or of a later batch than the one that is to
be written, ends it, wherever it is found: also in the property, after a rollback of the rows.
"""

from __future__ import annotations

import logging
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    ForbiddenError,
    NoSuchTableError,
    UnauthorizedError,
    ValidationException,
)
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, SetPropertiesUpdate, SetSnapshotRefUpdate

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.pipeline.task import TaskFencedError
from penstock.spark.query.iceberg.marks import MAIN, Generation, KnownBatch, Mark, known_in
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.topics import as_json

log = logging.getLogger(__name__)

ATTEMPTS = 20
"""Attempts at one commit, each after another writer's commit or an unknown outcome."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds between two attempts, which double."""
REFUSED = (BadRequestError, ForbiddenError, UnauthorizedError, NoSuchTableError, ValidationException)
"""Errors of a catalog that has not committed, and would not the next time."""
MISTAKES = (ValueError, TypeError, NotImplementedError)
"""Errors of pyiceberg itself, which it would make the next time, too."""
MERGES = "commit.manifest-merge.enabled"
ALTER = "PATCH /connectors/<name>/offsets"


class OutcomeUnknownError(Exception):
    """A commit has failed, and the table can't be read to see whether it has it. The batch is tried again later, and
    the table is looked at before that.
    """

    def __init__(self, table: str, first: BaseException, then: BaseException) -> None:
        super().__init__(
            f"Whether the last commit to {table} has succeeded is not known ({_line(first)}), and the table can't be "
            f"read now: {_line(then)}"
        )


class LostRowsError(ConnectError):
    """The table has not the rows any more that this connector has committed."""

    def __init__(self, table: str, branch: str, known: KnownBatch, expected: str) -> None:
        place, mark, lost = f"{table} (branch {branch})", known.mark, known.lost
        if known.unclear:
            assert lost is not None
            super().__init__(
                f"It can't be told whether {place} still has batch {_named(lost)} of this connector: the snapshots "
                "since then have expired, and no file of it is left. Other programs may have rewritten or deleted "
                "its rows, or the table was rolled back or replaced. Stop the connector, look into the table, and "
                f"alter its offsets: to {as_json(lost.offsets)} to continue after this batch, or to where records "
                f"are missing to write them again ({ALTER})"
            )
            return
        has = "no batch of this connector" if mark is None else f"batch {_named(mark)} of this connector"
        if lost is not None and known.branch not in ("", branch):
            why = f"batch {_named(lost)} was committed to the branch {known.branch}"
        elif lost is None and mark is None:
            why = "it was dropped and created again, or replaced, or the connector has written to another table before"
        elif lost is None:
            why = "it was rolled back or replaced, or the connector has written to another table since"
        else:
            why = "it was rolled back or replaced"
        back = f"to {as_json(mark.offsets)}" if mark is not None and mark.offsets else "to those of the table's rows"
        super().__init__(
            f"{place} has {has}, but {expected}: {why}. Stop the connector and alter the offsets of all of its "
            f"partitions: {back} to write the missing records again, or to where it is to continue without them "
            f"({ALTER})"
        )


class TableGoneError(ConnectError):
    """The table to which this connector has written is not there."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"There is no table {table}, though this connector has written batches: the table was dropped, or they "
            "went to another one, or had no rows. It is not created without their rows. Restore it; or stop the "
            "connector and alter the offsets of all of its partitions, to the first records of a new table, or reset "
            f"them to begin again as auto.offset.reset says ({ALTER}, or DELETE)"
        )


class _Failed(NamedTuple):
    """An attempt that has committed nothing, with the table as it is then."""

    table: Any
    known: KnownBatch
    error: Exception


class Commits:
    """The commits of one run to one branch of a table. ``load`` reads the table from the catalog."""

    def __init__(self, load: Callable[[], Any], name: str, branch: str, owner: Mark) -> None:
        """``owner``: a mark of the connector, of which only the names are used."""
        self._load, self._name, self._branch = load, name, branch
        self._owner = owner
        self._mark: Mark | None = None
        """The last mark in the table as this run has left it; None before its claim."""
        self._pending: Mark | None = None
        """The mark of the last attempt, whose outcome may not be known yet."""
        self.table: Any = None
        """The table as ``has`` has found it, for the files of the batch."""
        self._uuid: Any = None

    @property
    def claimed(self) -> bool:
        """Whether this run has taken over, so that earlier ones can't commit any more."""
        return self._mark is not None

    @property
    def generation(self) -> str:
        """The name of this run among those that have claimed the table."""
        return "" if self._mark is None else self._mark.generation.text()

    def claim(
        self, version: BatchVersion, offsets: Mapping[Partition, int] | None = None, *, new: bool = False
    ) -> None:
        """Take over from earlier runs, by a snapshot without rows: what they commit after it conflicts.

        ``version`` is the last batch that the connector's group knows to be written, and ``offsets`` replace those of
        the table; ``new``: the batches up to it had no rows, and there was no table.

        Raises LostRowsError if the table has not the rows of that batch, and as ``commit``.
        """
        table = self._load()
        known = known_in(table, self._branch, self._owner.sink)
        for pause in _pauses():
            self._check_latest(known)
            self._check_next(known.mark, version.next())
            if not new:
                self._check_lost(known, version)
            wanted = self._claim_after(known, version, offsets or {})
            failed = self._committed(table, wanted, ())
            if failed is None:
                self._mark, self._uuid = self._pending, table.metadata.table_uuid
                log.debug("Generation %s may commit to %s", wanted.generation.text(), self._name)
                return
            table, known, last = failed
            time.sleep(pause)
        raise _too_many(self._name, last) from last

    def _claim_after(self, known: KnownBatch, version: BatchVersion, offsets: Mapping[Partition, int]) -> Mark:
        last = max((each.generation.number for each in (known.mark, known.lost) if each is not None), default=0)
        generation = Generation(last + 1, secrets.token_hex(4))
        if (mark := known.mark) is None:
            return replace(self._owner, generation=generation, version=version, offsets=offsets)
        moved = {topic for topic, _ in offsets}  # which may have been deleted and created again
        topics = {topic: id for topic, id in mark.topics.items() if topic not in moved}
        return replace(mark, generation=generation, offsets={**mark.offsets, **offsets}, topics=topics)

    def _check_lost(self, known: KnownBatch, version: BatchVersion) -> None:
        """Raise LostRowsError if the group knows this batch to be written, and its rows are not there.

        Numbers count on from one epoch to the next, so that a table which is behind lacks rows whatever the epoch. Only
        if the offsets of all partitions were altered or reset do they begin again, after the batch that the table has.
        """
        there, lost = known.mark, known.lost
        if known.unclear and there is None:
            is_lost = lost is not None and lost.version.epoch == version.epoch
        else:
            is_lost = (0 if there is None else there.version.number) < version.number
        if is_lost:
            raise LostRowsError(
                self._name, self._branch, known, f"batch {version.epoch}-{version.number} was written to it"
            )

    def has(self, version: BatchVersion) -> bool:
        """Return whether the table has this batch, before it is written.

        Raises TaskFencedError if a later run has taken over, or a later batch is there, and LostRowsError if this run's
        last batch is gone.
        """
        self.table = table = self._load()
        self._check_table(table)
        self._check_mine(known_in(table, self._branch, self._owner.sink))
        assert self._mark is not None
        self._check_next(self._mark, version)
        return self._mark.version == version

    def commit(
        self,
        files: Sequence[Any],
        version: BatchVersion,
        offsets: Mapping[Partition, int],
        topics: Mapping[str, str],
        confirm: Callable[[], None],
    ) -> None:
        """Add the files of a batch, which ``has`` has not found, to the table, with its mark.

        The files have the partition spec of ``table``, though the table may have another one since. ``confirm`` is
        called before each attempt. Raises TaskFencedError, LostRowsError, OutcomeUnknownError, and the catalog's
        errors.
        """
        assert self._mark is not None
        wanted, table = self._mark.after(version, offsets, topics), self.table
        for pause in _pauses():
            confirm()
            failed = self._committed(table, wanted, files)
            if failed is None:
                self._mark = self._pending
                return
            table, known, last = failed
            self._check_table(table)
            self._check_mine(known)
            time.sleep(pause)
        raise _too_many(self._name, last) from last

    def _committed(self, table: Any, wanted: Mark, files: Sequence[Any]) -> _Failed | None:
        """Try to commit once. Returns None if the table has the commit, else the table as it is now.

        Raises OutcomeUnknownError if that is not known, and errors of a catalog that refuses, and of pyiceberg.
        """
        self._make_branch(table)
        transaction = self._of_spec(table, files).transaction()
        merging = str(table.metadata.properties.get(MERGES, "true")).casefold() != "false"
        update = transaction.update_snapshot(branch=self._branch)
        producer = update.merge_append() if merging else update.fast_append()
        producer._merge_enabled = merging  # as the specification has it by default, and pyiceberg has not
        if files:
            wanted = replace(wanted, rows=(producer.snapshot_id, table.metadata.next_sequence_number()))
        producer.snapshot_properties = wanted.summary()
        for file in files:
            producer.append_data_file(file)
        updates, requirements = producer._commit()
        snapshot = updates[0].snapshot
        self._pending = wanted
        property = wanted.property(snapshot.snapshot_id, snapshot.sequence_number, self._branch)
        error = self._request(
            table,
            (AssertTableUUID(uuid=table.metadata.table_uuid), *requirements),
            (*updates, SetPropertiesUpdate(updates=property)),
        )
        if error is None:
            return None
        try:
            fresh = self._load()
            known = known_in(fresh, self._branch, self._owner.sink)
        except Exception as then:
            raise OutcomeUnknownError(self._name, error, then) from error
        if wanted.is_same(known.mark):
            log.info("The commit of batch %s to %s has succeeded, in spite of %r", _named(wanted), self._name, error)
            self._pending = _at(wanted, known.mark)  # perhaps of an earlier attempt
            return None
        if isinstance(error, CommitFailedException):
            producer._clean_all_uncommitted()
            log.info("Another writer has committed to %s; trying again after it: %s", self._name, error)
        elif isinstance(error, (*REFUSED, *MISTAKES)):
            raise error
        else:
            log.warning("A commit to %s has failed, and the table does not have it: %r", self._name, error)
        return _Failed(fresh, known, error)

    def _of_spec(self, table: Any, files: Sequence[Any]) -> Any:
        """Return the table, as it would be if its partition spec were still that of the files.

        A manifest has files of one spec, and pyiceberg takes the default one. Raises CommitFailedException if their
        spec is gone: then the batch is written again.
        """
        metadata = table.metadata
        if not files or (spec := self.table.metadata.default_spec_id) == metadata.default_spec_id:
            return table
        if spec not in table.specs():
            raise CommitFailedException(f"The partition spec of {self._name} was removed while files were written")
        own = copy(table)
        own.metadata = metadata.model_copy(update={"default_spec_id": spec})
        return own

    def _request(self, table: Any, requirements: tuple[Any, ...], updates: tuple[Any, ...]) -> Exception | None:
        """Send one request to the catalog; return its error, if it has failed or its outcome is not known."""
        try:
            response = table.catalog.commit_table(table, requirements, updates)
        except Exception as error:
            return error
        with suppress(Exception):  # as pyiceberg does after its commits, if the table's properties say so
            table.catalog._delete_old_metadata(table.io, table.metadata, response.metadata)
        return None

    def _make_branch(self, table: Any) -> None:
        """Make the branch, at the present end of main, if there is none. Raises as ``_committed``."""
        refs = table.metadata.refs
        if self._branch in refs or MAIN not in refs:
            return
        error = self._request(
            table,
            (AssertTableUUID(uuid=table.metadata.table_uuid), AssertRefSnapshotId(ref=self._branch, snapshot_id=None)),
            (SetSnapshotRefUpdate(ref_name=self._branch, type="branch", snapshot_id=refs[MAIN].snapshot_id),),
        )
        fresh = self._load()
        if self._branch not in fresh.metadata.refs and error is not None:
            raise error
        table.metadata, table.metadata_location = fresh.metadata, fresh.metadata_location

    def _check_table(self, table: Any) -> None:
        if table.metadata.table_uuid != self._uuid:
            raise LostRowsError(
                self._name, self._branch, KnownBatch(None), "this run has written to another of its name"
            )

    def _check_mine(self, known: KnownBatch) -> None:
        """Raise TaskFencedError or LostRowsError if the connector's last mark is not the one of this run."""
        if self._pending is not None and self._pending.is_same(known.mark):
            self._mark = _at(self._pending, known.mark)
        mine = self._mark
        assert mine is not None
        self._check_latest(known)
        if not mine.is_same(known.mark):
            raise LostRowsError(self._name, self._branch, known, f"this run has committed batch {_named(mine)}")

    def _check_latest(self, known: KnownBatch) -> None:
        """Raise TaskFencedError if this run has claimed the table, and a later one, too."""
        mine = self._mark
        for other in (known.mark, known.lost):
            if mine is not None and other is not None and other.generation.number > mine.generation.number:
                raise TaskFencedError(
                    f"Another run of this task (generation {other.generation.text()}) has taken over {self._name}, "
                    f"and this one ({mine.generation.text()}) ends"
                )

    def _check_next(self, there: Mark | None, version: BatchVersion) -> None:
        """Raise TaskFencedError if this batch can't be the next one, or the last one, of those in the table."""
        if there is None or version.number > there.version.number or version == there.version:
            return
        raise TaskFencedError(
            f"{self._name} has batch {_named(there)} of this task already, so that {version.epoch}-{version.number} "
            "is not the next one: another run has written it, and this one ends"
        )


def _at(mark: Mark, found: Mark | None) -> Mark:
    """Return a mark with the rows of the same one as it was found."""
    return mark if found is None else replace(mark, rows=found.rows)


def _pauses() -> Iterator[float]:
    """Yield the seconds to wait after each attempt."""
    for attempt in range(ATTEMPTS):
        yield min(FIRST_PAUSE * 2.0**attempt, LONGEST_PAUSE) * random.uniform(0.5, 1.0)


def _too_many(name: str, last: Exception) -> CommitFailedException:
    return CommitFailedException(f"{name} could not be committed to in {ATTEMPTS} attempts: {_line(last)}")


def _named(mark: Mark | None) -> str:
    return "" if mark is None else f"{mark.version.epoch}-{mark.version.number}"


def _line(error: BaseException) -> str:
    return (str(error) or repr(error)).splitlines()[0]
