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
"""

from __future__ import annotations

import logging
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

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
from penstock.spark.query.iceberg.marks import Generation, Known, Mark, known_in
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.topics import as_json

log = logging.getLogger(__name__)

ATTEMPTS = 20
"""Attempts at one commit, each after another writer's commit or an unknown outcome."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds between two attempts, which double."""
REFUSED = (BadRequestError, ForbiddenError, UnauthorizedError, NoSuchTableError, ValidationException)
"""Errors of a catalog that has not committed, and would not the next time."""
MAIN, MERGES = "main", "commit.manifest-merge.enabled"


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

    def __init__(self, table: str, branch: str, known: Known, expected: str) -> None:
        has = "no batch of this connector" if known.mark is None else f"batch {_named(known.mark)} of this connector"
        if known.unclear:
            text = (
                f"It can't be told whether {table} (branch {branch}) still has batch {_named(known.lost)} of this "
                "connector: the snapshots since then have expired, and no file of it is left. If it was rolled back or "
                "replaced, the records since then are to be written again"
            )
        else:
            text = f"{table} (branch {branch}) has {has}, but {expected}: it was rolled back or replaced"
        mark = known.mark
        back = f"to {as_json(mark.offsets)}" if mark is not None and mark.offsets else "to those of the table's rows"
        super().__init__(
            f"{text}. Stop the connector and alter its offsets: {back} to write the missing records again, or to where "
            "it is to continue without them (PATCH /connectors/<name>/offsets)"
        )


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
        """The table as ``has`` has found it."""
        self._uuid: Any = None

    @property
    def claimed(self) -> bool:
        """Whether this run has taken over, so that earlier ones can't commit any more."""
        return self._mark is not None

    @property
    def generation(self) -> str:
        """The name of this run among those that have claimed the table."""
        return "" if self._mark is None else self._mark.generation.text()

    def claim(self, version: BatchVersion, offsets: Mapping[Partition, int] | None = None) -> None:
        """Take over from earlier runs, by a snapshot without rows: what they commit after it conflicts.

        ``version`` is the last batch that the connector's group knows to be written, and ``offsets`` replace those of
        the table. Raises LostRowsError if the table has not the rows of that batch, and as ``commit``.
        """
        table = self._load()
        known = known_in(table, self._branch, self._owner.sink)
        for pause in _pauses():
            self._check_lost(known, version)
            wanted = self._claim_after(known, version, offsets or {})
            found = self._committed(table, wanted, ())
            if found is None:
                self._mark, self._uuid = self._pending, table.metadata.table_uuid
                log.debug("Generation %s may commit to %s", wanted.generation.text(), self._name)
                return
            table, known = found
            time.sleep(pause)
        raise _too_many(self._name)

    def _claim_after(self, known: Known, version: BatchVersion, offsets: Mapping[Partition, int]) -> Mark:
        last = max((each.generation.number for each in (known.mark, known.lost) if each is not None), default=0)
        generation = Generation(last + 1, secrets.token_hex(4))
        if (mark := known.mark) is None:
            return replace(self._owner, generation=generation, version=version, offsets=offsets)
        return replace(mark, generation=generation, offsets={**mark.offsets, **offsets})

    def _check_lost(self, known: Known, version: BatchVersion) -> None:
        """Raise LostRowsError if the group knows a batch of the same epoch to be written, and its rows are not there.

        Batches of another epoch are behind the connector: its offsets were altered since.
        """
        there = known.mark
        behind = there is not None and there.version.epoch == version.epoch and there.version.number < version.number
        gone = there is None and known.lost is not None and known.lost.version.epoch == version.epoch
        if behind or gone:
            raise LostRowsError(
                self._name, self._branch, known, f"batch {version.epoch}-{version.number} was written to it"
            )

    def has(self, version: BatchVersion) -> bool:
        """Return whether the table has this batch, before it is written.

        Raises TaskFencedError if a later run has taken over, and LostRowsError if this run's last batch is gone.
        """
        self.table = table = self._load()
        self._check_table(table)
        self._check_mine(known_in(table, self._branch, self._owner.sink))
        assert self._mark is not None
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

        ``confirm`` is called before each attempt. Raises TaskFencedError, LostRowsError, OutcomeUnknownError, and the
        catalog's errors.
        """
        assert self._mark is not None
        wanted, table = self._mark.after(version, offsets, topics), self.table
        for pause in _pauses():
            confirm()
            found = self._committed(table, wanted, files)
            if found is None:
                self._mark = self._pending
                return
            table, known = found
            self._check_table(table)
            self._check_mine(known)
            time.sleep(pause)
        raise _too_many(self._name)

    def _committed(self, table: Any, wanted: Mark, files: Sequence[Any]) -> tuple[Any, Known] | None:
        """Try to commit once. Returns None if the table has the commit, else the table as it is now.

        Raises OutcomeUnknownError if that is not known, and errors of a catalog that refuses.
        """
        self._make_branch(table)
        transaction = table.transaction()
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
        property = wanted.property(snapshot.snapshot_id, snapshot.sequence_number)
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
            self._pending = known.mark  # perhaps of an earlier attempt
            return None
        if isinstance(error, CommitFailedException):
            producer._clean_all_uncommitted()
            log.info("Another writer has committed to %s; trying again after it: %s", self._name, error)
        elif isinstance(error, REFUSED):
            raise error
        else:
            log.warning("A commit to %s has failed, and the table does not have it: %r", self._name, error)
        return fresh, known

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
            raise LostRowsError(self._name, self._branch, Known(None), "this run has written to another of its name")

    def _check_mine(self, known: Known) -> None:
        """Raise TaskFencedError or LostRowsError if the connector's last mark is not the one of this run."""
        if self._pending is not None and self._pending.is_same(known.mark):
            self._mark = known.mark
        mine = self._mark
        assert mine is not None
        if mine.is_same(known.mark):
            return
        latest = known.mark
        if known.lost is not None and (latest is None or known.lost.generation.number > latest.generation.number):
            latest = known.lost
        if latest is not None and latest.generation.number > mine.generation.number:
            raise TaskFencedError(
                f"Another run of this task (generation {latest.generation.text()}) has taken over {self._name}, and "
                f"this one ({mine.generation.text()}) ends"
            )
        raise LostRowsError(self._name, self._branch, known, f"this run has committed batch {_named(mine)}")


def _pauses() -> Iterator[float]:
    """Yield the seconds to wait after each attempt."""
    for attempt in range(ATTEMPTS):
        yield min(FIRST_PAUSE * 2.0**attempt, LONGEST_PAUSE) * random.uniform(0.5, 1.0)


def _too_many(name: str) -> CommitFailedException:
    return CommitFailedException(f"{name} could not be committed to in {ATTEMPTS} attempts")


def _named(mark: Mark | None) -> str:
    return "" if mark is None else f"{mark.version.epoch}-{mark.version.number}"


def _line(error: BaseException) -> str:
    return (str(error) or repr(error)).splitlines()[0]
