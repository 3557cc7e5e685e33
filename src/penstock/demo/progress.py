"""Two bars: how many flights are in the topic, how many where the sink writes, and how many in a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text


class Rate(ProgressColumn):
    """Records per second, from the first to the last."""

    def render(self, task: Task) -> Text:
        speed = task.completed / task.elapsed if task.elapsed else 0
        return Text(f"{speed:>9,.0f} records/s", style="cyan")


class Bars:
    def __init__(self, progress: Progress, total: int, names: Sequence[str], begun: bool) -> None:
        self._progress = progress
        self._bars = {name: progress.add_task(name, total=total, start=begun) for name in names}

    def show(self, *numbers: int) -> None:
        """The time of each begins with its first records."""
        for bar, done in zip(self._bars.values(), numbers, strict=True):
            if done and not self._progress.tasks[bar].started:
                self._progress.start_task(bar)
            self._progress.update(bar, completed=min(done, self._progress.tasks[bar].total or done))

    def say(self, text: str) -> None:
        """A line above the bars."""
        self._progress.console.print(text, highlight=False, soft_wrap=True)


@contextmanager
def bars(
    console: Console, total: int, names: Sequence[str] = ("into the topic", "into the file"), begun: bool = False
) -> Iterator[Bars]:
    """``begun``: their time begins now, not with the first records of each."""
    columns = (TextColumn("  {task.description:<14}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        yield Bars(progress, total, names, begun)


class Growing:
    """Counts the lines of a file that others append to."""

    def __init__(self, path: Path) -> None:
        self._path, self._position, self._lines = path, 0, 0

    def lines(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._position)
                while block := file.read(1 << 20):
                    self._lines += block.count(b"\n")
                    self._position += len(block)
        return self._lines
