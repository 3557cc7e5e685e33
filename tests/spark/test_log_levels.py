"""Spark's own loggers, where the user has configured them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.model.tasks import TaskEnded
from penstock.spark.settings import HostSettings
from support.spark.host import make_spec, started
from support.waiting import until

pytestmark = pytest.mark.integration

LOG4J = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c %m%n
"""


def test_a_log4j_configuration_of_the_user_stays_in_force(tmp_path: Path) -> None:
    log, configuration = tmp_path / "spark.log", tmp_path / "log4j2.properties"
    configuration.write_text(LOG4J.format(log=log))
    java = f"-Dlog4j2.configurationFile={configuration.as_uri()}"
    with started(HostSettings(spark={"spark.driver.extraJavaOptions": java})) as hosted:
        hosted.run(make_spec(fail="on purpose"))
        hosted.events.until(TaskEnded)
        wanted = ("ERROR org.apache.spark.executor.Executor", "ERROR org.apache.spark.scheduler.TaskSetManager")
        until(lambda: all(line in log.read_text() for line in wanted), f"{wanted} in {log}")
    assert [line for line in wanted if line not in log.read_text()] == []
