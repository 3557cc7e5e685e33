"""SQL for SQLite that can do nothing but read the file of the URL: one SELECT, or what follows one.

Statements that open other files (ATTACH, VACUUM INTO, ...) are statements of their own, and functions that load code
have names. The SQL is put together of parts that are checked one by one, so none may end inside of a quote or comment.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    \s+ | --[^\n]*\n | /\*.*?\*/
    | '(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\]
    | [^\W\d][\w$]* | .
    """,
    re.DOTALL | re.VERBOSE,
)
_OPEN = ("--", "/*", "'", '"', "`", "[", "\0")
_READS, _WRITES = ("SELECT", "VALUES"), ("INSERT", "UPDATE", "DELETE", "REPLACE")
_LOADS = ("LOAD_EXTENSION", "FTS3_TOKENIZER")


def sqlite_problem(sql: str) -> str | None:
    """Why this is not one statement that only reads; a semicolon may end it."""
    text = sql.strip().rstrip(";")
    words, problem = _words(text)
    if problem is not None:
        return problem
    outer = [word for word, depth in words if depth == 0]
    if outer and outer[0] == "WITH":
        outer = [word for word in outer if word in (*_READS, *_WRITES)]
    return None if outer and outer[0] in _READS else "it has to be a SELECT"


def sqlite_suffix_problem(sql: str) -> str | None:
    """Why this can't follow a statement that only reads."""
    return _words(sql.strip())[1]


def _words(text: str) -> tuple[list[tuple[str, int]], str | None]:
    """The words outside of quotes and comments, each with the number of open parentheses; and what is wrong."""
    words: list[tuple[str, int]] = []
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if len(token) == 1 and text.startswith(_OPEN, found.start()):
            return words, "a quote or comment has no end"
        match token:
            case ";":
                return words, "it has to be one statement"
            case "(":
                depth += 1
            case ")":
                depth -= 1
                if depth < 0:
                    return words, "a parenthesis is closed that is not open"
        if token[0].isalpha() or token[0] == "_":
            words.append((token.upper(), depth))
        if token.strip('"`[]').upper() in _LOADS:
            return words, f"{token} loads code"
    return words, "a parenthesis is not closed" if depth else None
