"""Passwords in a file of Apache's ``htpasswd``, hashed with bcrypt (``htpasswd -B``); read again when it changes.

A check takes a tenth of a second on purpose, so it is done on threads of its own, and a password that was right is
remembered for a while, by a hash that means nothing elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import bcrypt

from penstock.http.access.files import ReloadedFile
from penstock.http.access.listeners import RestSettingError

REMEMBERED_S = 300.0
MAX_WAITING, MAX_WAITING_OF_ADDRESS = 32, 24
_NOBODY = b"$2b$10$" + b"." * 53
_HASH = re.compile(r"\$2[aby]\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}", re.ASCII)


class Htpasswd:
    def __init__(self, path: str) -> None:
        """Raises RestSettingError."""
        self._file = ReloadedFile("penstock.authentication.htpasswd", path, users_in)
        self._salt = secrets.token_bytes(32)
        self._right: dict[bytes, tuple[float, bytes]] = {}
        self._threads = ThreadPoolExecutor(2, "passwords")
        self._waiting: Counter[str] = Counter()

    async def knows(self, name: str, password: str, address: str = "") -> bool:
        """Return whether this is the password of the user. ``address``: the client's; of each address only
        some passwords are checked at a time, so that a flood of one does not lock out the others.
        """
        users = self._file.content()
        hashed = users.get(name)
        given = hmac.digest(self._salt, f"{name}\n{password}".encode(), hashlib.sha256)
        until, of = self._right.get(given, (0.0, b""))
        if hashed is not None and of == hashed and time.monotonic() < until:
            return True
        if self._waiting.total() >= MAX_WAITING or self._waiting[address] >= MAX_WAITING_OF_ADDRESS:
            return False
        self._waiting[address] += 1
        try:
            loop, encoded = asyncio.get_running_loop(), password.encode()[:72]
            right = await loop.run_in_executor(self._threads, bcrypt.checkpw, encoded, hashed or _slowest(users))
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        if right and hashed is not None:
            if len(self._right) > 10_000:
                self._right.clear()
            self._right[given] = (time.monotonic() + REMEMBERED_S, hashed)
        return right and hashed is not None


def _slowest(users: Mapping[str, bytes]) -> bytes:
    """Check a hash for names that do not exist, so that the time does not reveal them: it takes as long as for those
    that do, if all were hashed at the same cost.
    """
    return max(users.values(), key=lambda hashed: hashed[4:6], default=_NOBODY)


def users_in(text: str) -> dict[str, bytes]:
    """Parse a file of hashes by name. Raises RestSettingError."""
    users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, hashed = line.strip().partition(":")
        if not colon or not _HASH.fullmatch(hashed):
            raise RestSettingError(f"line {number} is not `name:hash` with a hash of bcrypt (htpasswd -B)")
        users[name] = hashed.encode()
    return users
