"""Levels of the loggers in JVMs, which follow those of this process's loggers of the same names."""

from __future__ import annotations

import logging

from penstock.hosts.jvm.messages.worker import SetJavaLogLevels
from penstock.hosts.jvm.session import JvmSession
from penstock.hosts.levels import LevelFollowers

_NAMES = {0: "ALL", 5: "TRACE", 10: "DEBUG", 20: "INFO", 30: "WARN", 40: "ERROR", 50: "FATAL"}
"""log4j's names of Python's levels."""


def follow(session: JvmSession) -> None:
    """Send the JVM of this session all levels, and from now on each that changes. Raises HostLost."""
    with JVMS.telling:  # so that a change in between is sent after them
        JVMS.processes.append(session)
        sent = session.begin(SetJavaLogLevels(levels()), lane="levels")
    sent.wait()


def unfollow(session: JvmSession) -> None:
    """Send the JVM of this session no levels any more."""
    if session in JVMS.processes:
        JVMS.processes.remove(session)


def _tell(session: JvmSession, name: str) -> None:
    session.begin(SetJavaLogLevels({name: level_name(_level(name))}), lane="levels")


JVMS = LevelFollowers(_tell)


def _level(name: str) -> int:
    """Return the effective level of a logger, its own or an inherited one, without creating the logger."""
    known = logging.root.manager.loggerDict
    while name and not isinstance(known.get(name), logging.Logger):
        name = name.rpartition(".")[0]
    return logging.getLogger(name).getEffectiveLevel()


def levels() -> dict[str, str]:
    """Return the levels that have been set in this process, by logger, with log4j's names."""
    found = {"root": logging.getLogger()}
    known = tuple(logging.root.manager.loggerDict.items())  # other threads may add to it
    found |= {name: each for name, each in known if isinstance(each, logging.Logger)}
    return {name: level_name(each.level) for name, each in found.items() if each.level != logging.NOTSET}


def level_name(level: int) -> str:
    """Return log4j's name of a Python level."""
    if level > logging.CRITICAL:
        return "OFF"
    return _NAMES[max((each for each in _NAMES if each <= level), default=0)]
