"""``make fuzz``: 10,000 random requests and attacks of four roles and a stranger; exits with 1 if it found anything."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from fuzz.attack import attack
from fuzz.target import target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=18)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, target(Path(folder)) as place:
        found = attack(place, given.requests, given.seed)
    print(found.report())
    sys.exit(bool(found.problems() or found.slow))


if __name__ == "__main__":
    main()
