"""Java version and maximum heap of a worker of Java Connect."""

from __future__ import annotations

from pathlib import Path

import psutil

from bench.connect import Connect


def described(java: Connect) -> str:
    """Describe the versions of Connect and Java, and the heap, as far as they are visible from here."""
    facts = [f"Java Connect {java.http.get('/').json()['version']}"]
    if java.pid is not None:
        try:
            process = psutil.Process(java.pid)
            facts += [_version(Path(process.exe())), _heap(process.cmdline())]
        except psutil.Error:
            pass
    return " ".join(filter(None, facts))


def _version(executable: Path) -> str:
    """Return the version in the file ``release`` beside ``bin``."""
    release = executable.parent.parent / "release"
    if not release.exists():
        return ""
    found = dict(line.split("=", 1) for line in release.read_text().splitlines() if "=" in line)
    return f"on Java {found.get('JAVA_VERSION', '').strip(chr(34))}"


def _heap(command: list[str]) -> str:
    return next((option for option in reversed(command) if option.startswith("-Xmx")), "with the default heap")
