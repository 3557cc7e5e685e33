"""Check of an application before its first task: its driver and executors have what tasks need.

Each failure is one sentence: what was found, what is needed, and how to get it. An executor that is added later is not
checked, but the errors of its tasks are explained by the same sentences.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import penstock
from penstock.spark import task
from penstock.spark.daemon import OTHER_PYTHON
from penstock.spark.settings import slots
from penstock.spark.versions import installed, other_spark

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

OPEN = "--add-opens=java.base/java.nio=ALL-UNNAMED"
"""Java's option without which Arrow can't reach Java's buffers; Spark starts its processes with it."""

MASTER_ANSWERS = "10s"
"""Time for each master to answer."""
PYTHON = "{}.{}".format(*sys.version_info)
"""The minor version of the worker's Python."""
_VERSION = "'java.lang.System', 'getProperty', 'java.specification.version'"
_ARROW = f"which queries need: `pip install penstock=={penstock.__version__}`"
_GROUP = ("penstock", "Penstock: do the executors have what tasks need?")
_PROGRAM = re.compile(r"Cannot run program \"(?P<program>[^\"]+)\".*?error[=:] ?\d+,? \(?(?P<why>[^)\n]+)")
"""Java 17's message, and that of later ones."""
_NO_MODULE = re.compile(r"Error from python worker.*No module named '?(?P<module>[\w.]+)", re.DOTALL)
_OTHER_PYTHON = re.compile(rf"{OTHER_PYTHON} (?P<found>\d+\.\d+) \((?P<program>[^\n]*)\)")
_SPARKS_OTHER_PYTHON = re.compile(r"Python in worker has different version:? \(?'?(?P<found>\d+(?:\.|, )\d+)")
_NOT_OPEN = re.compile(r"DirectByteBuffer\.<init>|Failed to initialize MemoryUtil|does not \"opens java\.nio\"")


class UnfitError(Exception):
    """The driver or executors lack something that tasks need; the message says what, and how to get it."""


def check_executors(context: SparkContext, conf: Mapping[str, str]) -> tuple[str, ...]:
    """Run a job in as many partitions as there are slots; return what some executors lack. Raises UnfitError, and what
    Spark raises.
    """
    context.setJobGroup(*_GROUP)
    count = slots(conf)
    try:
        facts = context.parallelize(range(count), count).mapPartitions(task.probe).collect()
    except Exception as error:
        if (sentence := explained(str(error), conf)) is not None:
            raise UnfitError(sentence) from error
        raise
    return unfit_executors(facts, context.version, conf)


def unfit_executors(facts: Sequence[Mapping[str, str]], spark: str, conf: Mapping[str, str]) -> tuple[str, ...]:
    """Look at what executors have found (``task.probe``). Raises UnfitError if none of them is fit.

    If only some are not fit, as while a cluster is upgraded, return and log a sentence for each. ``spark``: the
    driver's version.
    """
    unfit = [sentence for executor in facts if (sentence := _unfit(executor, spark, conf)) is not None]
    if unfit and len(unfit) == len(facts):
        raise UnfitError(unfit[0])
    sentences = tuple(dict.fromkeys(unfit))
    for sentence in sentences:
        log.warning("Tasks may fail on some executors. %s", sentence)
    return sentences


def refusal_of_master(context: SparkContext, conf: Mapping[str, str]) -> str | None:
    """Ask a standalone cluster's masters why they have not accepted an application that Spark has given up.

    Return a sentence for masters of another Spark, which Spark itself only logs.
    """
    java: Any = context._jsc.sc()
    jvm: Any = context._jvm
    if not (conf["spark.master"].startswith("spark://") and java.isStopped()):
        return None
    from py4j.protocol import Py4JJavaError

    rpc = jvm.org.apache.spark.rpc
    host, security = str(java.conf().get("spark.driver.host")), java.env().securityManager()
    conf_of_asking = java.conf().clone().set("spark.rpc.lookupTimeout", MASTER_ANSWERS)
    asking = rpc.RpcEnv.create("penstock-check", host, 0, conf_of_asking, security, True)
    try:
        for master in conf["spark.master"].removeprefix("spark://").split(","):
            asking.setupEndpointRef(rpc.RpcAddress.fromSparkURL(f"spark://{master}"), "Master")
    except Py4JJavaError as error:
        return explained(str(error), conf)
    finally:
        asking.shutdown()
    return None


def check_queries(session: SparkSession, conf: Mapping[str, str]) -> tuple[str, ...]:
    """Send a row through Arrow to Python and back in each slot of executors; return what some of them lack. Raises
    UnfitError, and what Spark raises.

    A local Spark has none: its one Java and Python are looked at without a job, for which each start would wait.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise UnfitError(f"The worker's Python ({sys.executable}) has no module pyarrow, {_ARROW} there installs it.")
    context = session.sparkContext
    _check_java(context._jvm)
    if is_local(conf):
        return ()
    unfit = check_executors(context, conf)
    context.setJobGroup(*_GROUP)
    count = slots(conf)
    rows = session.range(0, count, 1, count)
    try:
        rows.mapInArrow(task.echo, "id BIGINT").collect()
    except Exception as error:
        text = str(error)
        if _NOT_OPEN.search(text):
            java = {row[0] for row in rows.selectExpr(f"java_method({_VERSION})").collect()}
            raise UnfitError(_not_open(f"The executors' Java {', '.join(sorted(java))}", "executor")) from error
        if (sentence := explained(text, conf)) is not None:
            raise UnfitError(sentence) from error
        raise
    return unfit


def _check_java(jvm: Any) -> None:
    """Check that this application's Java, of the driver, has the options that Arrow needs. Raises UnfitError."""
    java = jvm.java.lang
    unnamed = java.ClassLoader.getSystemClassLoader().getUnnamedModule()
    if not java.Class.forName("java.nio.Buffer").getModule().isOpen("java.nio", unnamed):
        version, home = map(java.System.getProperty, ("java.specification.version", "java.home"))
        raise UnfitError(_not_open(f"Spark's Java {version} in {home}", "driver"))


def is_local(conf: Mapping[str, str]) -> bool:
    """Return whether tasks run in the driver's Java."""
    return re.match(r"local(\[|$)", conf["spark.master"]) is not None


def explained(text: str, conf: Mapping[str, str]) -> str | None:
    """Return a sentence for an error of an executor that lacks something that tasks need; None for other errors."""
    program = conf["spark.pyspark.python"]
    if task.TaskFailedError.__name__ in text:  # a task ran, and what failed is the plugin's
        return None
    if (other := other_spark(text)) is not None:
        return _met(f"The cluster {conf['spark.master']}", other)
    if found := _PROGRAM.search(text):
        return f"The executors can't run {found['program']} ({found['why'].strip()}): {_get_penstock(conf)}."
    if found := _OTHER_PYTHON.search(text):
        return _other_python(found["found"], found["program"], conf)
    if found := _SPARKS_OTHER_PYTHON.search(text):
        return _other_python(found["found"].replace(", ", "."), program, conf)
    if found := _NO_MODULE.search(text):
        return _lacks(found["module"], program, conf)
    return None


def _unfit(executor: Mapping[str, str], spark: str, conf: Mapping[str, str]) -> str | None:
    """Return a sentence for an executor that is not fit for tasks, from what it has found there (``task.probe``)."""
    where = f"{executor['python']} on {executor['host']}"
    if executor["penstock"] != penstock.__version__:
        return (
            f"The executors' Python ({where}) has Penstock {executor['penstock']}, and the worker is "
            f"{penstock.__version__}: both need the same version; {_get_penstock(conf)}."
        )
    if executor["spark"].split(".")[:2] != spark.split(".")[:2]:
        return _met(f"The executors' Python ({where})", f"PySpark {executor['spark']}")
    return None


def _met(where: str, other: str) -> str:
    """Return a sentence for two versions of Spark that meet; ``where`` runs the one that ``other`` names."""
    ours = installed().version
    found = re.search(r"(?:Spark|such as) (\d+\.\d+)", other)
    minor = found[1] if found else "X.Y"
    return (
        f"{where} runs {other}, and the worker has Spark {ours}: both need the same first two numbers. Install the "
        f"cluster's version, as by `pip install 'pyspark=={minor}.*'`, in the worker's environment and in that of "
        f"the executors, or use a cluster of Spark {'.'.join(ours.split('.')[:2])}."
    )


def _other_python(found: str, program: str, conf: Mapping[str, str]) -> str:
    return (
        f"The executors' Python ({program}) is {found}, and the worker's is {PYTHON}: Spark needs the same minor "
        f"version in both; {_get_penstock(conf)}, or start the worker with Python {found}."
    )


def _lacks(module: str, program: str, conf: Mapping[str, str]) -> str:
    if module.partition(".")[0] == "penstock":
        return f"The executors' Python ({program}) has no Penstock: {_get_penstock(conf)}."
    needed = _ARROW if module.partition(".")[0] == "pyarrow" else _ARROW.replace("queries need", "Penstock needs")
    get = f"{needed} there installs it, or {_get_penstock(conf)}"
    return f"The executors' Python ({program}) has no module {module}, {get}."


def _not_open(java: str, of: str) -> str:
    return (
        f"{java} runs without `{OPEN}`, which Arrow needs, although Spark starts its processes with it: "
        f"use a `java` that takes the options it is given, or add it to `spark.{of}.extraJavaOptions`."
    )


def _get_penstock(conf: Mapping[str, str]) -> str:
    """Return how the executors get an environment like the worker's."""
    return (
        f"set `spark.pyspark.python` (it is {conf['spark.pyspark.python']}) to a Python "
        f"{PYTHON} that has Penstock {penstock.__version__} on each executor, by "
        "their image or by `spark.archives` with a packed environment"
    )
