"""What the interpreter of a plugin's environment executes: ``python boot.py <folder of penstock> <fd> <options>``.

Of the worker's packages it gets ``penstock`` alone, not what else is installed there.
"""

from __future__ import annotations

import importlib.util
import json
import sys


def use_penstock(folder: str) -> None:
    found = importlib.util.spec_from_file_location(
        "penstock", f"{folder}/__init__.py", submodule_search_locations=[folder]
    )
    assert found is not None
    assert found.loader is not None
    penstock = sys.modules["penstock"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(penstock)


if __name__ == "__main__":
    use_penstock(sys.argv[1])
    from penstock.hosts.python.serving.main import serve

    serve(int(sys.argv[2]), json.loads(sys.argv[3]))
