"""Tests of what the runtime relies on, for any connector.

Subclass ``SourceContract`` or ``SinkContract`` in a test module, and say what to run; pytest collects the tests. What a
test needs and the subclass does not have (an outage, a change of schema) makes it be skipped, with that reason.

>>> from penstock.api.testing.contract import SourceContract
>>> class TestCountdown(SourceContract):
...     def task_class(self):
...         return Countdown
...     def config(self):
...         return {"from": "3"}
"""

from penstock.api.testing.contract.sinks import SinkContract
from penstock.api.testing.contract.sources import SourceContract

__all__ = ["SinkContract", "SourceContract"]
