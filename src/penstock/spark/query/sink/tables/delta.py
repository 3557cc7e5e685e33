"""What a Delta table knows of the batches that it has."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.spark.query.sink.settings import SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

OF_EPOCH = re.compile(r"[0-9a-f]{8}(\.[0-9a-f]{8})?")


def batches_in_delta(session: SparkSession, settings: SinkSettings, connector: str) -> dict[str, int]:
    """By epoch of this connector the last batch that the table has, by Delta's record of it.

    None where that can't be read: the table is in a catalog that is not Spark's own, or Delta's jar is missing, which
    the first batch reports.
    """
    jvm, java = session._jvm, session._jsparkSession
    assert jvm is not None
    logs: Any = jvm.org.apache.spark.sql.delta.DeltaLog
    if isinstance(logs, JavaPackage):
        return {}
    if settings.table is None:
        found = logs.forTableWithSnapshot(java, settings.path)
    elif session.catalog.tableExists(settings.table):
        try:
            table = java.sessionState().sqlParser().parseTableIdentifier(settings.table)
            found = logs.forTableWithSnapshot(java, table)
        except (PySparkException, Py4JError) as error:
            why = str(error).partition("\n")[0]
            log.warning("Which batches of %s table %s has can't be read: %s", connector, settings.table, why)
            return {}
    else:
        return {}
    transactions: Any = jvm.scala.jdk.javaapi.CollectionConverters.asJava(found._2().transactions())
    prefix = f"{connector}-"
    return {
        application.removeprefix(prefix): int(number)
        for application, number in dict(transactions).items()
        if application.startswith(prefix) and OF_EPOCH.fullmatch(application.removeprefix(prefix))
    }
