"""Penstock's cache folder on this machine, and the error of everything that is kept or run from it.

Java Connect comes with a Kafka distribution; Penstock is a wheel, so what is not Python (jars, a broker's data, a Java
launcher) is put here when it is first needed, and is found here from then on. Downloads report their progress.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class EmbeddedError(Exception):
    """Reason why a part can't be used, as one sentence for the person at the terminal: the value, and what would be
    right.
    """


def home() -> Path:
    """``$PENSTOCK_HOME``, else ``$XDG_CACHE_HOME/penstock``, else ``~/.cache/penstock``. Not created here."""
    if own := os.environ.get("PENSTOCK_HOME"):
        return Path(own).expanduser().absolute()
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache).expanduser().absolute() / "penstock"
    return Path.home() / ".cache" / "penstock"


def folder(path: Path) -> Path:
    """Creates ``path`` with its parents and returns it. Raises EmbeddedError when that can't be done."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around everything that writes to ``path``: the system's refusal becomes a sentence that names it."""
    try:
        yield
    except OSError as e:
        raise EmbeddedError(refusal(e, path)) from e


def refusal(e: OSError, path: Path) -> str:
    match e.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"No space is left on the disk of {path}: free some, or choose another folder."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"{path} can't be written by this user: make it writable, or choose another folder (PENSTOCK_HOME)."
        case errno.EEXIST | errno.ENOTDIR:
            return f"{path} can't be a folder, since a file is in the way: move it, or choose another folder."
        case _:
            return f"{path} can't be written: {e.strerror}."


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Shows ``title`` on stderr while the block runs, which calls the yielded function once per piece of ``total``."""
    if not sys.stderr.isatty():
        print(f"{title} ...", file=sys.stderr, flush=True)
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
