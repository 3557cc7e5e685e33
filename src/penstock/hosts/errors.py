"""Errors of plugins that ``errors.tolerance`` does not take for errors of records."""

from __future__ import annotations

from penstock.api.errors import KafkaError


class HostLost(BaseException):
    """The host's process has ended or does not answer: the task is lost, and starts again.

    It is no Exception, so that ``errors.tolerance`` does not take it for the error of a record.
    """

    def __init__(self, reason: str, by_itself: bool = False) -> None:
        """``by_itself``: nobody killed it; it crashed, exited, or ran out of memory."""
        super().__init__(reason)
        self.by_itself = by_itself


class FatalJavaError(KafkaError):
    """A Java plugin has thrown an ``Error``, such as NoClassDefFoundError: it ends the task as it is, neither tolerated
    nor reported nor tried again.
    """

    java_name = "java.lang.Error"
