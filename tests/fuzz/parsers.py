"""``make soak-parsers``: every parser of bytes from outside gets random and damaged inputs.

A parser may accept an input or raise an error that its callers expect; anything else is a fault, as is an input that
takes long. Inputs are made by Hypothesis, mostly from valid ones that are damaged, cut or combined.
"""

from __future__ import annotations

import argparse
import functools
import logging
import random
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Parse = Callable[[bytes], object]
AT_ONCE = 50
"""Number of inputs made from one that Hypothesis draws."""
MAX_BYTES = 20_000
MAX_FAULTS = 20
"""Maximum number of a parser's faults that are shown."""
MAX_S = 5.0
"""Maximum processor time in seconds for one input, far above what any needs."""
MAX_ADDRESSES = 8 << 30
"""Limit of the address space in bytes, so that a parser that allocates too much fails rather than the machine."""
MAX_KILOBYTES = 600_000
"""Maximum growth of the process's peak memory during one parser's inputs."""
WORDS = (
    b"\x00", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00" * 9,
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\\ud800", b"null", b"NaN", b"1e999", b"-1", b"9" * 400, b"[" * 300, b'{"a":' * 300, b"{}", b"[]", b'""',
    b"\xed\xa0\x80",
    b"\x1b[2J", b"\n", b"*a", b"&a ", b"<<: ", b"${", b"}", b"'", b'"', b"\\u", b"true",
)  # fmt: skip


VALUES = (
    b"null", b"true", b"0", b"-1", b"1.5", b"1e999", b"9223372036854775807", b"-9223372036854775809", b"9" * 400,
    b'""', b'"x"', b'"\\ud800"', b'"\\u0000\\u001b"', b"[]", b"{}", b'["x"]', b'{"x":1}',
    b"[[[[[1]]]]]", b'{"a":{"a":{"a":[]}}}',
)  # fmt: skip
_TOKEN = re.compile(rb'"[^"]*"|-?[0-9]+(?:\.[0-9]+)?|true|false|null')


class TooSlowError(BaseException):
    """One input has used more than ``MAX_S`` seconds of processor time."""


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser, valid inputs of it, and the errors that its callers expect."""

    name: str
    parse: Parse
    samples: Sequence[bytes]
    errors: tuple[type[Exception], ...] = ()
    max_kilobytes: int = MAX_KILOBYTES


@dataclass(slots=True)
class Result:
    """Result of the inputs of one parser."""

    name: str
    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    seconds: float = 0.0
    grown_kilobytes: int = 0
    faults: dict[str, bytes] = field(default_factory=dict)
    """First input of each kind of fault, by its error."""

    def line(self) -> str:
        return (
            f"{self.name:32} {self.inputs:8} inputs {self.refused:8} refused {self.slowest_s * 1000:8.1f} ms the"
            f" slowest {self.seconds:7.1f} s {len(self.faults):3} faults"
        )


def damaged(samples: Sequence[bytes]) -> st.SearchStrategy[list[bytes]]:
    """Return a strategy of ``AT_ONCE`` inputs: random bytes, and samples that are changed in some places."""
    return st.builds(functools.partial(_inputs, samples), st.binary(max_size=200), st.integers(0, 1 << 64))


def _inputs(samples: Sequence[bytes], given: bytes, chance: int) -> list[bytes]:
    """Return ``given`` and inputs made from samples: Hypothesis takes a millisecond for each input that it draws."""
    dice = random.Random(chance)
    return [given, *(_changed(dice, dice.choice(samples), samples) for _ in range(AT_ONCE - 1))]


def _changed(dice: random.Random, sample: bytes, samples: Sequence[bytes]) -> bytes:
    data = bytearray(sample)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 5))):
        start = dice.randrange(len(data) + 1)
        match dice.randrange(9):
            case 0:
                data[start : start + 1] = bytes([dice.randrange(256)])
            case 1:
                new = dice.choice(WORDS)
                data[start : start + len(new)] = new
            case 2:
                data[start:start] = dice.choice(WORDS)
            case 3:
                del data[start : start + dice.randrange(1, 9)]
            case 4:
                other = dice.choice(samples)
                data[start:] = other[dice.randrange(len(other) + 1) :]
            case 5 if data:  # flip one bit
                data[start - 1] ^= 1 << dice.randrange(8)
            case 6 | 7 if tokens := list(_TOKEN.finditer(data)):  # replace a value of JSON by another
                found = dice.choice(tokens)
                data[found.start() : found.end()] = dice.choice(VALUES)
            case _:
                end = start + dice.randrange(1, 40)
                data[start:start] = data[start:end] * dice.randrange(1, 4)
    return bytes(data[:MAX_BYTES])


def run(parser: Parser, count: int, chance: int) -> Result:
    """Give a parser ``count`` inputs; ``chance`` is the seed."""
    result = Result(parser.name)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    signal.signal(signal.SIGVTALRM, _stop)
    for sample in parser.samples:
        try:
            with _limited():
                parser.parse(sample)
        except (Exception, TooSlowError) as error:
            result.faults[f"a valid input: {type(error).__name__}: {error}"[:200]] = sample

    @seed(chance)
    @settings(
        max_examples=max(1, count // AT_ONCE),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(parser.samples))
    def attempt(inputs: list[bytes]) -> None:
        for data in inputs:
            _try(parser, data, result)

    attempt()
    result.seconds = time.monotonic() - started
    result.grown_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if result.grown_kilobytes > parser.max_kilobytes:
        result.faults[f"{result.grown_kilobytes} kB more memory"] = b""
    return result


def _try(parser: Parser, data: bytes, result: Result) -> None:
    result.inputs += 1
    begun = time.process_time()
    try:
        with _limited():
            parser.parse(data)
    except parser.errors:
        result.refused += 1
    except (Exception, TooSlowError) as error:
        name = f"{type(error).__name__}: {error}"[:120]
        if len(result.faults) < MAX_FAULTS:
            result.faults.setdefault(name, data)
    result.slowest_s = max(result.slowest_s, time.process_time() - begun)


class _limited:
    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_S)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooSlowError(f"more than {MAX_S} s")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=100_000, help="inputs of each parser")
    arguments.add_argument("--seed", type=int, default=18)
    arguments.add_argument("--only", nargs="*", help="names of parsers, or beginnings of them")
    given = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESSES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    from fuzz.parsers_of_penstock import parsers  # imports most of Penstock

    found: dict[str, Any] = {}
    for parser in parsers():
        if given.only and not parser.name.startswith(tuple(given.only)):
            continue
        result = run(parser, given.count, given.seed)
        print(result.line(), flush=True)
        for error, data in result.faults.items():
            print(f"    {error}\n    {data[:300]!r}", flush=True)
        found |= {f"{parser.name}: {error}": data for error, data in result.faults.items()}
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
