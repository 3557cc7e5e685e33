"""``penstock run``: try a plugin out."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def run(
    plugin: Annotated[
        Path, typer.Argument(help="A plugin's folder, as `penstock new` makes it, a .py file, or a folder of jars.")
    ],
    config: Annotated[
        Path | None,
        typer.Argument(
            help="File with a connector's configuration (.json or .properties), here or in the plugin's folder; "
            "by default config.json there.",
            show_default=False,
        ),
    ] = None,
    records: Annotated[int, typer.Option(min=0, help="End after this number of records; 0: never.")] = 0,
) -> None:
    """Run a connector with a plugin on a Kafka broker and a worker of their own, until Ctrl-C.

    Records of a source are printed: topic, partition and offset, key, value, headers. Lines of the standard input
    become records for a sink; it ends when the input has ended and the offsets of all are committed. When a file of the
    plugin or the configuration changes, the change takes effect, at the offsets reached. Broker and offsets are gone
    afterwards.
    """
    from penstock.trial.session import session

    interrupted = threading.Event()

    def interrupt(*_: object) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, interrupt)
    try:
        with session(plugin, config, records, interrupted) as running:
            running.run()
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
