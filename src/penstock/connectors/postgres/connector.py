"""Changes of a PostgreSQL database to topics, in Debezium's envelopes, without a JVM.

Needs psycopg2: ``pip install 'penstock[postgres]'``. Settings that it shares with Debezium's connector for PostgreSQL
have the same names and meanings; those of Debezium's that would change what comes and are not built are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import __version__
from penstock.api.check import TargetCheck
from penstock.api.connector import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from penstock.api.errors import ConnectError
from penstock.api.simple_connector import SimpleConnector
from penstock.connectors.postgres.check import check_postgres
from penstock.connectors.postgres.definition import POSTGRES_CONFIG
from penstock.connectors.postgres.origin import stored_origin
from penstock.connectors.postgres.progress import stored
from penstock.connectors.postgres.settings import PostgresSettings, problems
from penstock.connectors.postgres.task import PostgresSourceTask


class PostgresSource(SimpleConnector, SourceConnector):
    """Sends changes of a PostgreSQL database to topics, in Debezium's envelopes, without a JVM.

    It has one task: a replication slot has one reader.
    """

    java_name = "penstock.connectors.PostgresSource"
    settings = POSTGRES_CONFIG

    @classmethod
    def version(cls) -> str:
        return __version__

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return [
            (name, f"Invalid value {config.get(name)} for configuration {name}: {sentence}")
            for name, sentence in problems(config)
        ]

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        return check_postgres(config)

    def task_class(self) -> type[PostgresSourceTask]:
        return PostgresSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        PostgresSettings.of(config)
        super().start(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            if partition is None or set(partition) != {"server"} or not isinstance(partition["server"], str):
                raise ConnectError(
                    f'A source partition of PostgresSource is {{"server": topic.prefix}}, not {partition}'
                )
            if offset is not None:
                stored(offset)
                stored_origin(offset)
        return True
