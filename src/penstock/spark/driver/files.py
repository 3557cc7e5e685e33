"""Where Spark, its Java and its driver put their files: in folders that are gone when the driver is.

Spark and Java remove theirs themselves, but not when they are killed: then 20 MB of jars, what did not fit into memory
and the checkpoints of queries stay.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.scratch import Scratch

_LOCAL_DIRS = "SPARK_LOCAL_DIRS"
_JAVA = "spark.driver.defaultJavaOptions"


class DriverFiles:
    def __init__(self, conf: Mapping[str, str]) -> None:
        self.roots = os.environ.get(_LOCAL_DIRS) or conf.get("spark.local.dir") or tempfile.gettempdir()
        """What the user calls the folders of Spark: one, or several with commas."""
        self._folders: list[Scratch] = []

    def begin(self, conf: Mapping[str, str]) -> dict[str, str]:
        """Make folders below those of the user, have them used by what this process starts, and by itself. The answer
        is the configuration for that. Raises OSError.
        """
        local = [self._folder(Path(root.strip()).absolute()) for root in self.roots.split(",")]
        # Native libraries are loaded from here: it stays on the disk of the other temporary files.
        own = self._folder(Path(tempfile.gettempdir()).absolute())
        os.environ[_LOCAL_DIRS] = ",".join(map(str, local))
        tempfile.tempdir = str(own)
        return {**conf, _JAVA: f'"-Djava.io.tmpdir={own}" {conf.get(_JAVA, "")}'.rstrip()}

    def end(self) -> None:
        for folder in self._folders:
            folder.close()

    def _folder(self, root: Path) -> Path:
        for known in self._folders:
            if known.path.parent == root:
                return known.path
        root.mkdir(parents=True, exist_ok=True)
        self._folders.append(Scratch("spark", root))
        return self._folders[-1].path
