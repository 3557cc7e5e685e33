"""The converters of a task are closed, also if one of them can't be configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.api.errors import ConfigError, ConnectError
from penstock.pipeline.conversion import Conversion, conversion_and_chain
from penstock.pipeline.converters.strings import StringConverter


class Remembered(StringConverter):
    """Refuses to be configured for one of its uses."""

    def __init__(self, log: list[str], refused: str) -> None:
        super().__init__()
        self.log, self.refused = log, refused

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        self._begin("key" if is_key else "value")

    def configure_header(self, config: Mapping[str, str]) -> None:
        self._begin("header")

    def _begin(self, use: str) -> None:
        self.use = use
        if use == self.refused:
            raise ConfigError(f"no {use}")

    def close(self) -> None:
        self.log.append(self.use)


@pytest.mark.parametrize(
    ("refused", "closed"),
    [("key", []), ("value", ["key"]), ("header", ["key", "value"]), ("", ["key", "value", "header"])],
)
def test_those_before_one_that_cannot_be_configured_are_closed(refused: str, closed: list[str]) -> None:
    log: list[str] = []

    def resolve(kind: str, name: str, version: str = "") -> Any:
        return lambda: Remembered(log, refused)

    config = {f"{use}.converter": "x" for use in ("key", "value", "header")}
    if refused:
        with pytest.raises(ConfigError, match=f"no {refused}"):
            Conversion.build(config, {}, resolve)
    else:
        Conversion.build(config, {}, resolve).close()
    assert log == closed


@pytest.mark.parametrize("config", [{}, {"transforms": "t"}])
def test_converters_are_closed_if_a_transform_cannot_be_made(config: dict[str, str]) -> None:
    log: list[str] = []

    def resolve(kind: str, name: str, version: str = "") -> Any:
        return lambda: Remembered(log, "")

    converters = {f"{use}.converter": "x" for use in ("key", "value", "header")}
    if config:
        with pytest.raises(ConnectError), conversion_and_chain({**converters, **config}, {}, resolve):
            pass
    else:
        with conversion_and_chain(converters, {}, resolve) as (conversion, chain):
            assert (chain.steps, log) == ([], [])
            assert len(conversion.from_connect()) == 3
    assert log == ["key", "value", "header"]
