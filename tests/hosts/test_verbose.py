"""Java plugins that print and log a lot: records do not wait, and the last lines arrive."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator

import pytest

from hosts.conducted import Conducted
from support.tasks.runs import eventually

pytestmark = pytest.mark.integration


class Lines(logging.Handler):
    """A log that can be held up."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.open.set()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.open.wait()
        self.texts.append(record.getMessage())

    @property
    def numbered(self) -> int:
        return sum(text.startswith("line ") for text in self.texts)

    @property
    def dropped(self) -> int:
        found = (re.match(r"(\d+) lines dropped: ", text) for text in self.texts)
        return sum(int(each[1]) for each in found if each)


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler, names = Lines(), ("stdout", "penstock.wire.lines")
    for name in names:
        logging.getLogger(name).addHandler(handler)
    logging.getLogger("stdout").setLevel(logging.INFO)
    logging.getLogger("stdout").propagate = False
    yield handler
    handler.open.set()
    logging.getLogger("stdout").propagate = True
    for name in names:
        logging.getLogger(name).removeHandler(handler)


@pytest.mark.parametrize("exactly_once", [False, True])
def test_records_do_not_wait_for_lines_and_those_dropped_are_counted(
    conducted: Conducted, lines: Lines, exactly_once: bool, offsets_topic: str
) -> None:
    lines.open.clear()
    config = {"records": "20", "at.poll@1": "print 100000"}
    with conducted(config, exactly_once=exactly_once, offsets_topic=offsets_topic):
        eventually(lambda: len(conducted.calls("commitRecord")) == 20)
        assert lines.texts == []
        lines.open.set()
    assert lines.dropped > 0
    assert lines.numbered + lines.dropped == 100_000


def test_the_lines_before_a_plugin_fails_or_ends_its_jvm_arrive(conducted: Conducted, lines: Lines) -> None:
    conducted({"at.poll@1": "print 1000 throw java.lang.IllegalStateException enough"}).failure()
    assert lines.numbered == 1000
    assert "exited with code 7" in conducted({"at.poll@1": "print 1000 exit 7"}).failure()
    assert lines.numbered == 2000
