"""Scaling with records: a source and a sink of 1, 2, 4 and 8 times as many records need proportional time at most, and
no more memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import copying
from bench.connect import CaseError, Connect
from bench.processes import Peak
from bench.setting import Setting
from bench.tables import Table

_TIMES = (1, 2, 4, 8)
_CASES = ((copying.SOURCE_STRING, copying.source), (copying.SINK_STRING, copying.sink))


@dataclass(frozen=True, slots=True)
class Size:
    """Figures of one number of records. ``seconds``: from the request that creates the connector to the last record.
    ``megabytes``: peak memory of the worker, its Spark and the task together.
    """

    case: str
    about: str
    records: int
    seconds: float
    megabytes: float


def run(cluster: Connect, bootstrap: str, folder: Path, records: int, about: str) -> Iterator[Size]:
    if cluster.pid is None:
        raise CaseError(f"doubling: the process of the worker at {cluster.url} can't be seen from here")
    with Setting(bootstrap, folder, max(records // 10, 1)) as warm:
        for copy, copies in _CASES:
            copies(copy, cluster, warm)
    for times in _TIMES:
        with Setting(bootstrap, folder, records * times) as setting:
            for copy, copies in _CASES:
                with Peak(cluster.pid) as peak:
                    watch = copies(copy, cluster, setting)
                size = Size(copy.case, about, setting.records, watch.seconds, peak.megabytes)
                print(
                    f"{copy.case:18} {size.records:,} records: {size.seconds:.1f} s, {size.megabytes:.0f} MB",
                    flush=True,
                )
                yield size


def table(sizes: list[Size]) -> Table:
    """Return a row for each number of records, with the source and the sink side by side."""
    cases = [copy.case for copy, _ in _CASES]
    headings = ["records", *(f"{case}: {figure}" for case in cases for figure in ("s", "as half of them", "MB"))]
    rows = []
    found = {(size.case, size.records): size for size in sizes}
    for records in sorted({size.records for size in sizes}):
        row = [f"{records:,}"]
        for case in cases:
            size, half = found.get((case, records)), found.get((case, records // 2))
            row += (
                ["", "", ""] if size is None else [f"{size.seconds:.1f}", _times(size, half), f"{size.megabytes:.0f}"]
            )
        rows.append(row)
    return Table(headings, rows)


def _times(size: Size, half: Size | None) -> str:
    return "" if half is None else f"{size.seconds / half.seconds:.2f} ×"
