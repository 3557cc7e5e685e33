"""Single message transforms and their predicates, on one record or on a whole batch.

The runtime makes one object for each alias of a transform in a task, and one of a predicate for each transform that
names it. It calls ``configure`` once, then ``apply_batch`` or ``test_batch`` for every batch from one thread, and
``close`` at the end. Java: ``org.apache.kafka.connect.transforms.Transformation`` and
``Predicate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from penstock.api.batch import Batch
from penstock.api.config import ConfigDef
from penstock.api.record import Record
from penstock.api.returned import applied_batch

R = TypeVar("R", bound=Record)


class Transformation:
    """Base of all transforms. Define ``apply``, or ``apply_batch`` where whole columns can be handled at once."""

    java_name: ClassVar[str] = ""

    @classmethod
    def version(cls) -> str:
        """Return the version that the list of plugins shows."""
        return "unknown"

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Return the settings of this class, without prefix. The runtime validates and documents them."""
        return ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:
        """Configure the transform; called once, before any other method. Raises ConfigError.

        ``config`` holds the settings whose names began with ``transforms.<alias>.``.
        """

    def apply(self, record: R) -> R | None:
        """Return the record to continue with: the same, a changed one, or None to drop it.

        Called once for each record, in order; again only after RetriableError.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no method apply")

    def apply_batch(self, batch: Batch) -> Batch:
        """Return the records to continue with, in order; must not change the given columns.

        May raise for any record of the batch (the runtime then applies it to the records one by one to find which),
        so where it is defined it must not change its own state before it can no longer fail.
        """
        out = [changed for row in batch.rows() if (changed := self.apply(row)) is not None]
        return applied_batch(out) if out else batch.select(())

    def close(self) -> None:
        """Release what the object holds; called once, after the last use."""


class Predicate:
    """Base of all predicates, which decide to which records a transform applies."""

    java_name: ClassVar[str] = ""

    @classmethod
    def version(cls) -> str:
        """Return the version that the list of plugins shows."""
        return "unknown"

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Return the settings of this class, without prefix. The runtime validates and documents them."""
        return ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:
        """Configure the predicate; called once, before any other method. Raises ConfigError.

        ``config`` holds the settings whose names began with ``predicates.<alias>.``.
        """

    def test(self, record: Record) -> bool:
        """Return whether the transform applies to this record; with ``negate`` it applies to the others."""
        raise NotImplementedError(f"{type(self).__qualname__} has no method test")

    def test_batch(self, batch: Batch) -> list[bool]:
        """Return the result of ``test`` for every record, in order."""
        return [self.test(row) for row in batch.rows()]

    def close(self) -> None:
        """Release what the object holds; called once, after the last use."""
