"""Filter: drops every record that it gets; a predicate selects them (KIP-585)."""

from __future__ import annotations

from penstock.api.batch import Batch
from penstock.pipeline.transforms.column import BuiltIn


class Filter(BuiltIn):
    """Drops every record that it gets; a predicate selects them."""

    java_name = "org.apache.kafka.connect.transforms.Filter"

    def apply_batch(self, batch: Batch) -> Batch:
        return batch.select(())
