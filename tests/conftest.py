"""The broker and the schema registry that integration tests share: one each per run, or those that the variables
PENSTOCK_TEST_BOOTSTRAP and PENSTOCK_TEST_REGISTRY name.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support import marking, waiting
from support.kafka.client import Kafka
from support.machine import missing
from support.spark.class_data import java_options
from support.together import rank

# The time that an example takes depends more on the machine than on the code. A test's few examples are the same in
# each run;
# `make soak-examples` looks for new ones.
EXAMPLES = int(os.environ.get("PENSTOCK_TEST_EXAMPLES", "0"))
settings.register_profile(
    "tests",
    settings.get_profile("default" if EXAMPLES else "ci"),
    max_examples=EXAMPLES or 20,
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")

# jsonschema, which several tests and their libraries import, would build 38 grammars for the formats of IRIs: four
# seconds in each process, and no test needs them.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# Set for every Spark that the tests start, directly or not.
os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options())

marking.watch()

LOG_LINES, LOG_WIDTH = 25, 240


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what comes of the scenarios today into their files")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Exclude collected tests and the modules imported for them from garbage collection: they stay until the end, and
    the collector need not traverse them during each test.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Keep pytest's format of captured lines, and note threads that end by an exception.

    Pytest adds its handlers to each logger that does not propagate, before each phase of a test. PySpark makes two such
    loggers when it raises an AnalysisException; they set a format of their own on the handlers that they are given.
    """
    plugin: Any = session.config.pluginmanager.get_plugin("logging-plugin")
    if plugin is not None:
        for handler in (plugin.caplog_handler, plugin.report_handler):
            handler.setFormatter = lambda formatter: None
    waiting.watch_threads()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if marking.is_left_out(collection_path, config.option.markexpr) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests so that no process waits for the long ones of another at the end: first folders whose tests stay
    together, then files with slow tests, then those that need a broker.
    """
    marking.mark(items)
    slow, integration = (
        {item.path for item in items if item.get_closest_marker(marker)} for marker in ("slow", "integration")
    )
    items.sort(key=lambda item: (rank(item.nodeid), item.path not in slow, item.path not in integration))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    marking.begin(item)
    waiting.forget_threads()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    yield
    marking.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Add the last lines of its workers' logs to the report of a failed test; the logs are removed with its folder."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder is not None:
        for log in sorted(folder.glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
            report.sections.append((f"the end of {log.name}", "\n".join(line[:LOG_WIDTH] for line in lines)))
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from support.together import scheduler

    return scheduler(config, log)


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """``host:port`` of a running broker. Other tests use it too: use unique names, and expect topics of others."""
    if running := os.environ.get("PENSTOCK_TEST_BOOTSTRAP"):
        yield running
        return
    from penstock.embedded import Broker

    # Tests write records with old timestamps, which the broker would delete at its next check, every five minutes; and
    # they wait until transactions that exceed their timeout are aborted.
    extra = {"log.retention.ms": "-1", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
    with Broker(extra=extra) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def kafka(bootstrap: str) -> Kafka:
    return Kafka(bootstrap)


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a real registry: the one that PENSTOCK_TEST_REGISTRY names, or one started for this run.

    It has subjects of other tests too: use unique names.
    """
    if running := os.environ.get("PENSTOCK_TEST_REGISTRY"):
        yield running
        return
    from penstock.embedded import registry
    from penstock.embedded.home import EmbeddedError

    directory = tmp_path_factory.mktemp("registry")
    try:
        registry.installed()
    except EmbeddedError as error:
        missing(f"A schema registry can't be had here: {error}")
    running_registry = registry.up(directory, 0, keep=False)
    try:
        yield running_registry.url
    finally:
        registry.down(directory)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 64 KB; only root can make one."""
    where = tmp_path / "disk"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(where)]
    try:
        made = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("mounting a small disk needs root")
    yield where
    subprocess.run(["umount", str(where)], check=True)
