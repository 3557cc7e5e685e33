"""Files from outside, read within limits: bytes of any file, and depth and size of YAML.

A file named by a configuration or a command may be a device that never ends, a pipe that never begins, or a text of a
few bytes that describes billions of values. Reading fails then, in bounded time and memory, with an error that names
the limit.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml  # which takes a while, in every task: only what reads YAML imports it

MAX_FILE_BYTES = 16 << 20
"""Bytes of a file, as of the body of a request."""
MAX_YAML_BYTES = 4 << 20
"""Bytes of a YAML file, of which a second reads about a hundred kilobytes."""
MAX_DEPTH = 100
MAX_NODES = 500_000
"""Values of a YAML document, those of an alias counted each time that it is named; long texts count more."""
_TEXT = 64


def read_file(path: Path | str, limit: int = MAX_FILE_BYTES, *, regular: bool = True) -> bytes:
    """Return the content of a file.

    ``regular``: whether it must be a regular file, as one named by a connector's configuration; a command may be given
    a pipe. Raises OSError, whose ``strerror`` names what is wrong.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (os.O_NONBLOCK if regular else 0))
    with open(descriptor, "rb") as file:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if regular and not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "It is not a regular file", str(path))
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"It has more than {limit} bytes", str(path))
    return content


def load_yaml(text: str, kind: type[yaml.SafeLoader] | None = None) -> Iterator[Any]:
    """Yield the documents of a text, as a loader of this kind, by default SafeLoader, constructs them.

    Raises YAMLError, also for a text that exceeds a limit, which the message names.
    """
    import yaml

    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_YAML_BYTES:
        raise _exceeded(f"it has {size} bytes; {MAX_YAML_BYTES} are accepted")
    loader = (kind or yaml.SafeLoader)(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # ``check_node`` has found one
            _measure(node, {}, set())
            yield loader.construct_document(node)
    except RecursionError:
        raise _exceeded(f"it is nested too deeply; {MAX_DEPTH} levels are accepted") from None
    finally:
        loader.dispose()


def _measure(node: yaml.Node, known: dict[int, tuple[int, int]], above: set[int]) -> tuple[int, int]:
    """Return the number of values of a node, aliases resolved, and its depth; ``known`` has those of earlier nodes.

    Raises YAMLError for a node that is too deep or too large.
    """
    if (found := known.get(id(node))) is not None:
        return found
    if id(node) in above:  # it holds itself: the loader says where
        return 1, 1
    above.add(id(node))
    count, depth = 1, 1
    if isinstance(node.value, str):
        count += len(node.value) // _TEXT
    for child in () if isinstance(node.value, str) else _children(node.value):
        inner, levels = _measure(child, known, above)
        count, depth = count + inner, max(depth, levels + 1)
        if count > MAX_NODES:
            raise _exceeded(f"it has more than {MAX_NODES} values, those of aliases included")
        if depth > MAX_DEPTH:
            raise _exceeded(f"it is nested too deeply; {MAX_DEPTH} levels are accepted")
    above.discard(id(node))
    known[id(node)] = count, depth
    return count, depth


def _children(value: Iterable[yaml.Node | tuple[yaml.Node, yaml.Node]]) -> Iterator[yaml.Node]:
    """Yield the nodes of a list's value, or of a mapping's, which are pairs."""
    for each in value:
        if isinstance(each, tuple):
            yield from each
        else:
            yield each


def _exceeded(problem: str) -> yaml.YAMLError:
    import yaml

    return yaml.YAMLError(problem)
