"""InsertHeader and DropHeaders (KIP-440): headers with a fixed value, and headers to remove."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.batch import Batch
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.record import Header
from penstock.api.validators import NonNull, ValidList
from penstock.pipeline.transforms.column import BuiltIn
from penstock.values import parse_string


class InsertHeader(BuiltIn):
    """Adds a header with a fixed value to each record."""

    java_name = "org.apache.kafka.connect.transforms.InsertHeader"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define("header", ConfigType.STRING, NO_DEFAULT, NonNull(), Importance.HIGH, "Name of the header to add.")
            .define(
                "value.literal",
                ConfigType.STRING,
                NO_DEFAULT,
                NonNull(),
                Importance.HIGH,
                "The header's value, the same for all records. Its type is that which the text looks like.",
            )
        )

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        schema, value = parse_string(settings["value.literal"])
        self._added = (Header(settings["header"], schema, value),)

    def apply_batch(self, batch: Batch) -> Batch:
        added = self._added
        return batch.with_(headers=[(*headers, *added) for headers in batch.headers])


class DropHeaders(BuiltIn):
    """Removes headers by name."""

    java_name = "org.apache.kafka.connect.transforms.DropHeaders"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "headers",
            ConfigType.LIST,
            NO_DEFAULT,
            ValidList(empty_allowed=False),
            Importance.HIGH,
            "Names of the headers to remove.",
        )

    def configure(self, config: Mapping[str, str]) -> None:
        self._dropped = frozenset(self.config_def().parse(config)["headers"])

    def apply_batch(self, batch: Batch) -> Batch:
        dropped = self._dropped
        kept = [
            tuple([h for h in headers if h.key not in dropped]) if headers else headers for headers in batch.headers
        ]
        return batch.with_(headers=kept)
