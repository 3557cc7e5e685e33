"""A leash on a child process: it never outlives the process that started it, however that ends. Provisional."""

from __future__ import annotations

from collections.abc import Sequence

# The shell becomes the command. What it leaves behind reads a pipe that nobody writes to: the pipe ends when its owner
# dies, however it dies, and then the command is ended. (PR_SET_PDEATHSIG would fire when the starting *thread* ends,
# and is Linux only. Descriptor 3, since a shell gives /dev/null to what it runs in the background.)
_ENDS = "kill -TERM $$; sleep 10; kill -KILL $$; } >/dev/null 2>&1"
_LEASHED = f'exec 3<&0; {{ cat <&3; {_ENDS} & exec 3<&- </dev/null; exec "$@"'
_LEASHED_BESIDE = f'leash=$1; shift; {{ cat "/proc/self/fd/$leash"; {_ENDS} </dev/null & exec "$@"'


def leashed(command: Sequence[str]) -> list[str]:
    """Return ``command`` on a leash, to be started in a session of its own with a pipe as its standard input.

    To end it, kill its process group, so that nothing of the leash stays.
    """
    return ["/bin/sh", "-c", _LEASHED, "leash", *command]


def leashed_beside(descriptor: int, command: Sequence[str]) -> list[str]:
    """Return ``command`` on a leash if it reads its standard input: the pipe is ``descriptor``, which it inherits."""
    return ["/bin/sh", "-c", _LEASHED_BESIDE, "leash", str(descriptor), *command]
