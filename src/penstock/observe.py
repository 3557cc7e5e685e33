"""The log of a worker, and the levels of its loggers (Java: Loggers, KIP-495).

Levels carry Java's names. A level counts for the logger and for every logger whose name begins with its name. Names are
those of Python's loggers (``penstock.worker.loop``); any other name may be given a level as well, and Java's names
(``org.apache.kafka.connect.runtime``) take their Python counterparts with them. The audit log alone has the level that
is given to its own name.

Lines that are written inside ``log_context(connector, task)`` carry both.

Texts come from clients, plugins and servers, and may have characters that control a terminal or look like a line of the
log. ``one_line``, ``many_lines`` and ``safe_json`` escape them; the log's formatters and commands write by these alone.
"""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

TRACE = 5
OFF = logging.CRITICAL + 10
NUMBERS = {
    "ALL": 1,
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": OFF,
}
_NAMES = {number: name for name, number in NUMBERS.items()}
for _number, _name in _NAMES.items():
    logging.addLevelName(_number, _name)
ROOT = "root"
AUDIT = "penstock.audit"
FORMATS = ("text", "json")
MAX_LINE_LENGTH, MAX_SECRET_LENGTH = 2**17, 2**14
"""Maximum length of a line, and of a secret in a line that is longer."""

COUNTERPARTS: Mapping[str, tuple[str, ...]] = {
    "org.apache.kafka": ("penstock",),
    "org.apache.kafka.clients": ("penstock.kafka",),
    "org.apache.kafka.clients.admin": ("penstock.kafka.admin",),
    "org.apache.kafka.clients.consumer": ("penstock.pipeline.sink.fetch", "penstock.pipeline.sink.subscription"),
    "org.apache.kafka.clients.producer": ("penstock.pipeline.source.sending.sender",),
    "org.apache.kafka.common": ("penstock.kafka",),
    "org.apache.kafka.common.config.provider": ("penstock.settings.providers",),
    "org.apache.kafka.common.metrics": ("penstock.pipeline.telemetry.plugin_metrics",),
    "org.apache.kafka.connect": ("penstock",),
    "org.apache.kafka.connect.cli": ("penstock.worker.process", "penstock.worker.assembly"),
    "org.apache.kafka.connect.converters": ("penstock.pipeline.converters",),
    "org.apache.kafka.connect.file": (
        "penstock.connectors.file",
        "penstock.connectors.file_source",
        "penstock.connectors.file_sink",
        "penstock.connectors.lines",
    ),
    "org.apache.kafka.connect.json": ("penstock.pipeline.converters",),
    "org.apache.kafka.connect.mirror": ("penstock.connectors.mirror",),
    "org.apache.kafka.connect.runtime": ("penstock",),
    "org.apache.kafka.connect.runtime.AbstractHerder": ("penstock.worker.loop",),
    "org.apache.kafka.connect.runtime.ExactlyOnceWorkerSourceTask": ("penstock.pipeline.source.transactions",),
    "org.apache.kafka.connect.runtime.SourceTaskOffsetCommitter": ("penstock.pipeline.source.commit",),
    "org.apache.kafka.connect.runtime.TransformationChain": ("penstock.pipeline.chain",),
    "org.apache.kafka.connect.runtime.Worker": ("penstock.worker", "penstock.spark"),
    "org.apache.kafka.connect.runtime.WorkerConfig": ("penstock.settings",),
    "org.apache.kafka.connect.runtime.WorkerConnector": ("penstock.worker.connectors",),
    "org.apache.kafka.connect.runtime.WorkerSinkTask": ("penstock.pipeline.sink",),
    "org.apache.kafka.connect.runtime.WorkerSourceTask": ("penstock.pipeline.source",),
    "org.apache.kafka.connect.runtime.WorkerTask": (
        "penstock.pipeline.task",
        "penstock.pipeline.runtime",
        "penstock.pipeline.chain",
        "penstock.pipeline.conversion",
        "penstock.spark.task",
        "penstock.spark.run.task_link",
        "penstock.spark.run.hosted_run",
        "penstock.spark.run.reports",
    ),
    "org.apache.kafka.connect.runtime.distributed": ("penstock.core", "penstock.worker.distributed"),
    "org.apache.kafka.connect.runtime.distributed.DistributedHerder": ("penstock.worker.loop",),
    "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator": ("penstock.kafka.group.connection",),
    "org.apache.kafka.connect.runtime.distributed.WorkerGroupMember": ("penstock.kafka.group.member",),
    "org.apache.kafka.connect.runtime.errors": (
        "penstock.pipeline.errors",
        "penstock.pipeline.dead_letters",
        "penstock.pipeline.source.failed_records",
    ),
    "org.apache.kafka.connect.runtime.isolation": ("penstock.plugins", "penstock.hosts", "penstock.wire"),
    "org.apache.kafka.connect.runtime.rest": ("penstock.http",),
    "org.apache.kafka.connect.runtime.standalone": ("penstock.worker.standalone",),
    "org.apache.kafka.connect.runtime.standalone.StandaloneHerder": ("penstock.worker.loop",),
    "org.apache.kafka.connect.storage": ("penstock.kafka.log", "penstock.kafka.offsets", "penstock.kafka.storage"),
    "org.apache.kafka.connect.storage.KafkaConfigBackingStore": ("penstock.kafka.storage",),
    "org.apache.kafka.connect.storage.KafkaOffsetBackingStore": ("penstock.kafka.offsets",),
    "org.apache.kafka.connect.storage.KafkaStatusBackingStore": ("penstock.kafka.storage",),
    "org.apache.kafka.connect.transforms": ("penstock.pipeline.transforms",),
    "org.apache.kafka.connect.util.KafkaBasedLog": ("penstock.kafka.log",),
    "org.apache.kafka.connect.util.TopicAdmin": ("penstock.kafka.admin",),
}
"""Our loggers, by Java's packages and classes whose levels people set."""

_UNSAFE = re.compile(
    "[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb"
    "\\U000e0000-\\U000e007f]"
)
"""Control characters but the tab, line ends of Unicode, and what turns or hides text: bidi, zero width, tags."""
_ESCAPES = {"\n": "\\n", "\r": "\\r"}
INDENT = "    "

_redact: list[Callable[[str], str]] = [lambda text: text]
_worker: list[str | None] = [None]
_context: ContextVar[tuple[str, int | None] | None] = ContextVar("log_context", default=None)


@contextmanager
def log_context(connector: str, task: int | None = None) -> Iterator[None]:
    """Lines that are logged inside carry this connector or task, in this thread or coroutine only."""
    token = _context.set((connector, task))
    try:
        yield
    finally:
        _context.reset(token)


def start_logging(level: int = logging.INFO, format: str = "text") -> None:
    """Send log lines to the standard output, one line each with time, level, connector and task, thread and logger.

    ``format`` is the setting ``penstock.log.format``: ``text``, or ``json`` for one object a line. Raises ValueError
    for any other.
    """
    if format not in FORMATS:
        raise ValueError(f"`penstock.log.format={format}` must be one of {', '.join(FORMATS)}")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # else a line with other characters is lost
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(add_context)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("py4j", "httpx", "httpcore", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for java_class in COUNTERPARTS:
        if java_class.rpartition(".")[2][0].isupper():
            logging.getLogger(java_class)  # so that it can be looked up, as in Java


def redact_by(redact: Callable[[str], str]) -> None:
    """Log what this function makes of each text from now on."""
    _redact[:] = [redact]


def name_worker(id: str) -> None:
    """Lines of JSON carry this worker id from now on."""
    _worker[:] = [id]


def add_context(record: logging.LogRecord) -> bool:
    """Add connector and task to a line, which may also carry them by ``extra``. One whose arguments do not fit its
    format, by a mistake of a plugin's, is shown with both: it must not fail the plugin.
    """
    connector, task = _context.get() or (None, None)
    record.connector = getattr(record, "connector", connector)
    record.task = getattr(record, "task", task)
    try:
        record.getMessage()
    except Exception as error:
        record.msg, record.args = f"{record.msg} {record.args!r} ({error})", ()
    return True


def one_line(text: str) -> str:
    """Return a text as one line that controls no terminal: what does is escaped, such as ``\\n`` or ``\\x1b``."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def many_lines(text: str, first: str = "") -> str:
    """Return a text of several lines, each as ``one_line`` returns it; those after the first, which begins with
    ``first``, are indented, so that none looks like the beginning of something else.
    """
    if "\n" not in text:
        return first + one_line(text)
    return f"\n{INDENT}".join([first + one_line(line) if at == 0 else one_line(line) for at, line in _lines(text)])


def safe_json(document: str) -> str:
    """Return a JSON document with the escapes of JSON for characters that control terminals; line ends stay."""
    return document if document.isprintable() else _UNSAFE.sub(_escape_json, document)


def _lines(text: str) -> Iterable[tuple[int, str]]:
    return enumerate(line.removesuffix("\r") for line in text.split("\n"))


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    number = ord(character)
    wide = f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    return _ESCAPES.get(character, wide)


def _escape_json(found: re.Match[str]) -> str:
    if found[0] == "\n":
        return "\n"
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def beginning(text: str, most: int, redact: Callable[[str], str]) -> str:
    """Return the first characters of a text, without secrets. The search takes a time in proportion to the text; a
    secret that begins in the last characters may be cut off, and not be found.
    """
    if len(text) <= most:
        return redact(text)
    return f"{redact(text[: most + MAX_SECRET_LENGTH])[:-MAX_SECRET_LENGTH]}... ({len(text)} characters)"


def redacted(text: str) -> str:
    """Return a text as it may be logged, see ``redact_by``; of a long text the beginning, since other threads wait to
    log.
    """
    return beginning(text, MAX_LINE_LENGTH, _redact[-1])


def level_name(number: int) -> str:
    """Return Java's name of a level."""
    return _NAMES.get(number, logging.getLevelName(number))


class TextLines(logging.Formatter):
    """One line each with time, level, connector and task, message, logger and thread. Further lines of a message, and
    traces, are indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        connector, task = getattr(record, "connector", None), getattr(record, "task", None)
        about = "" if connector is None else f"[{connector}] " if task is None else f"[{connector}|task-{task}] "
        # Only texts are searched for secrets: a password may be a word that names of classes and loggers have, too.
        message = redacted(record.getMessage())
        head = one_line(f"[{self.formatTime(record)}] {record.levelname} {about}")
        line = many_lines(message, head) + one_line(f" ({record.name}) [{record.threadName}]")
        for trace in (
            record.exc_text or (self.formatException(record.exc_info) if record.exc_info else None),
            self.formatStack(record.stack_info) if record.stack_info else None,
        ):
            if trace:
                line += f"\n{many_lines(redacted(trace), INDENT)}"
        return line


class JsonLines(logging.Formatter):
    """Members ``time`` (RFC 3339), ``level``, ``logger``, ``thread``, ``message``, and where they are known ``worker``,
    ``connector``, ``task``, ``exception``, and ``trace_id``, ``span_id`` and ``trace_flags`` (the names of
    OpenTelemetry) of a line that a task logs while it works on a batch of which a trace is recorded.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "message": redacted(record.getMessage()),
            "worker": _worker[-1],
            "connector": getattr(record, "connector", None),
            "task": getattr(record, "task", None),
            **(getattr(record, "trace", None) or {}),
            "exception": redacted(self.formatException(record.exc_info)) if record.exc_info else None,
        }
        known = {name: value for name, value in line.items() if value is not None}
        try:
            return safe_json(orjson.dumps(known).decode())
        except orjson.JSONEncodeError:  # halves of surrogate pairs, of which file names may consist
            known = {k: str(v).encode("utf-8", "replace").decode() for k, v in known.items()}
            return safe_json(orjson.dumps(known).decode())


class LogLevels:
    """The levels of this process's loggers. Methods may be called from any thread."""

    def __init__(self, counterparts: Mapping[str, tuple[str, ...]] = COUNTERPARTS) -> None:
        self._counterparts = counterparts
        self._modified: dict[str, int] = {}
        self._sent: set[str] = set()
        self._lock = threading.Lock()

    def all(self) -> dict[str, dict[str, Any]]:
        """Return every logger, except those that are switched off.

        The audit log is among them only if its own level has been set: all others have the level set for the root.
        """
        names = {ROOT, *_existing()} - ({AUDIT} - self._modified.keys())
        return {name: self._shown(name) for name in sorted(names) if _level(name) != OFF}

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the level of a logger; None for one that does not exist."""
        if name.lower() == ROOT:
            return self._shown(ROOT)
        return self._shown(name) if name in _existing() else None

    def set(self, name: str, level: str) -> list[str]:
        """Set the level (one of ``NUMBERS``, letters of either case) of a logger and of all whose names begin so.

        Returns the names of those that had another level before, their own or an inherited one, and of those that
        were switched off. The audit log keeps its level unless it is its name.
        """
        number = NUMBERS[level.strip().upper()]
        with self._lock:
            name = ROOT if name.lower() == ROOT else name
            found = {ROOT, *_existing()} if name == ROOT else {n for n in _existing() if n.startswith(name)}
            found, ours = {name, *found - {AUDIT}}, self._ours(name) - {AUDIT}
            if name != AUDIT:
                logging.getLogger(AUDIT).setLevel(_level(AUDIT))  # a level of its own, so that it inherits no other
            changed = sorted(each for each in found if _level(each) != number or number == OFF)
            now = int(time.time() * 1000)
            for each in [*changed, *_others(ours, number)]:
                _logger(each).setLevel(number)
                self._modified[each] = now
            return changed

    def for_tasks(self, name: str) -> list[str]:
        """Return the loggers whose level must be set in a task's process, so that a level set for this name counts
        there too.

        The name, its counterparts, and all names below them that this method has returned before.
        """
        with self._lock:
            name = ROOT if name.lower() == ROOT else name
            targets = self._targets(name)
            below = {sent for sent in self._sent if name == ROOT or sent.startswith(name) or _is_below(sent, targets)}
            found = {name, *targets, *below}
            self._sent |= found
            return sorted(found)

    def _ours(self, name: str) -> Set[str]:
        """Return the counterparts of the Java loggers of this name and below it, and all loggers below those."""
        targets = self._targets(name)
        return {*targets, *(existing for existing in _existing() if _is_below(existing, targets))}

    def _targets(self, name: str) -> Set[str]:
        found = (ours for java, ours in self._counterparts.items() if java == name or java.startswith(f"{name}."))
        return {each for ours in found for each in ours}

    def _shown(self, name: str) -> dict[str, Any]:
        number = _level(name)
        return {"level": _NAMES.get(number, str(number)), "last_modified": self._modified.get(name)}


def _is_below(name: str, targets: Set[str]) -> bool:
    return any(name.startswith(f"{target}.") for target in targets)


def _others(names: Iterable[str], number: int) -> list[str]:
    return sorted(each for each in names if _level(each) != number)


def _level(name: str) -> int:
    """Return the logger's own level, or the one it inherits."""
    return _logger(name).getEffectiveLevel()


def _existing() -> list[str]:
    known = list(logging.root.manager.loggerDict.items())
    return [name for name, logger in known if isinstance(logger, logging.Logger)]


def _logger(name: str) -> logging.Logger:
    return logging.getLogger() if name == ROOT else logging.getLogger(name)
