"""The program of a plugin's interpreter: ``python boot.py <folder of penstock> <fd> <options>``.

The interpreter gets ``penstock`` alone of the worker's packages. Messages are made without ``msgspec``, which the
plugin's environment has perhaps not, or in another version.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys


def use_penstock(folder: str) -> None:
    """Make ``penstock`` importable from this folder, with ``wire.plain`` in the place of ``wire.messages``."""
    found = importlib.util.spec_from_file_location(
        "penstock", f"{folder}/__init__.py", submodule_search_locations=[folder]
    )
    assert found is not None
    assert found.loader is not None
    penstock = sys.modules["penstock"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(penstock)
    sys.modules["penstock.wire.messages"] = importlib.import_module("penstock.wire.plain")


if __name__ == "__main__":
    use_penstock(sys.argv[1])
    from penstock.hosts.python.serving.main import serve

    serve(int(sys.argv[2]), json.loads(sys.argv[3]))
