"""An operator's file that is read again when it changes; a file that cannot be read leaves the last good content."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from penstock.files import read_file
from penstock.http.access.listeners import RestSettingError

log = logging.getLogger(__name__)

LOOK_S = 1.0
T = TypeVar("T")


class ReloadedFile(Generic[T]):
    def __init__(self, setting: str, path: str, parse: Callable[[str], T]) -> None:
        """Raises RestSettingError if the file can't be read now. ``parse`` raises it, too."""
        self._setting, self._path, self._parse = setting, Path(path), parse
        try:
            self._seen = self._state()
            self._content = parse(read_file(self._path).decode("utf-8"))
        except (OSError, UnicodeDecodeError, RestSettingError) as error:
            raise RestSettingError(f"The file of `{setting}={path}` can't be used: {error}") from None
        self._look = time.monotonic() + LOOK_S

    def content(self) -> T:
        now = time.monotonic()
        if now >= self._look:
            self._look = now + LOOK_S
            try:
                state = self._state()
                if state != self._seen:
                    self._seen = state
                    self._content = self._parse(read_file(self._path).decode("utf-8"))
                    log.info("Reloaded %s, the file of `%s`", self._path, self._setting)
            except (OSError, UnicodeDecodeError, RestSettingError) as error:
                log.error(
                    "The file of `%s=%s` has changed and can't be used; what it held before counts: %s",
                    self._setting,
                    self._path,
                    error,
                )
        return self._content

    def _state(self) -> tuple[int, int, int]:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino
