"""The parts of a plan of Spark, found by one walk in Java (``java/penstock/sql/PlanWalk.java``)."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyspark
from py4j.protocol import Py4JJavaError

from penstock.api.errors import ConnectError
from penstock.embedded.home import EmbeddedError
from penstock.hosts.jvm.build import jar_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SOURCES = Path(__file__).parent / "java"
_USED = ("spark-catalyst_*", "spark-sql-api_*", "spark-unsafe_*", "spark-common-utils*", "scala-library-*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ENDS = {"t": "\t", "n": "\n", "r": "\r"}


@dataclass(slots=True)
class PlanPart:
    """An object that a plan consists of, and its parts in their order.

    ``kind``: plan, expression or tree (a node of Spark's trees), type, metadata, view, product, map, list, class, text,
    number, null, object. The parts of a map are its keys and values in turn. ``value`` of an expression is its
    function's name if that may give another result for the same arguments, otherwise empty.
    """

    kind: str
    class_name: str
    value: str
    line: int
    """Line in the SQL text, from 1; 0 if neither Spark nor a part around it knows."""
    position: int
    """Position in that line, from 0."""
    parts: list[PlanPart] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """Name of the class without its package, as Spark's messages have it."""
        return self.class_name.rpartition(".")[2].rstrip("$")

    def all(self) -> Iterator[PlanPart]:
        """Yield this part and all below it, each once."""
        waiting, seen = [self], set()
        while waiting:
            part = waiting.pop()
            if id(part) not in seen:
                seen.add(id(part))
                yield part
                waiting.extend(reversed(part.parts))


class PlanReader:
    """The Java half in a session's driver. Raises ConnectError if it can't be compiled."""

    def __init__(self, session: SparkSession) -> None:
        gateway: Any = session.sparkContext._gateway
        with _lock:
            if gateway not in _walks:
                _walks[gateway] = _new_walk(gateway, session)
            self._walk = _walks[gateway]

    def tree(self, plan: Any) -> PlanPart:
        """Return the parts of a logical plan, which is an object of Java's."""
        try:
            text = str(self._walk.walk(plan))
        except Py4JJavaError as error:
            raise ConnectError(f"the plan can't be checked: {error.java_exception}") from None
        found: list[PlanPart] = []
        for row in text.split("\n")[:-1]:
            _, parent, kind, name, line, position, value = row.split("\t", 6)
            value = _ESCAPED.sub(lambda match: _ENDS.get(match[1], match[1]), value)
            around = found[int(parent)] if int(parent) >= 0 else None
            place = (int(line), int(position))
            if place[0] == 0 and around is not None:
                place = (around.line, around.position)
            part = found[int(value)] if kind == "same" else PlanPart(kind, name, value, *place)
            found.append(part)
            if around is not None:
                around.parts.append(part)
        return found[0]


_walks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The Java object of each Java. One, because Py4J knows methods by the name of their class, whichever loader it has."""
_lock = threading.Lock()


def _new_walk(gateway: Any, session: SparkSession) -> Any:
    urls = gateway.new_array(gateway.jvm.java.net.URL, 1)
    urls[0] = gateway.jvm.java.io.File(str(_our_jar())).toURI().toURL()
    # Executors need not have the jar: the walk is called in the driver alone.
    parent = session._jsparkSession.getClass().getClassLoader()
    found = gateway.jvm.java.net.URLClassLoader(urls, parent).loadClass("penstock.sql.PlanWalk")
    classes = gateway.new_array(gateway.jvm.java.lang.Class, 0)
    return found.getDeclaredConstructor(classes).newInstance(gateway.new_array(gateway.jvm.java.lang.Object, 0))


def _our_jar() -> Path:
    folder = Path(pyspark.__file__).parent / "jars"
    try:
        return jar_of(_SOURCES, "penstock-sql", sorted(jar for name in _USED for jar in folder.glob(f"{name}.jar")))
    except EmbeddedError as error:
        raise ConnectError(str(error)) from error
