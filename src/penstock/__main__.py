"""The entry point of ``penstock``, also for ``python -m penstock``: Ctrl-C during imports shows no trace."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from penstock.cli import main as command
    except KeyboardInterrupt:
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
