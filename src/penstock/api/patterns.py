"""Java's regular expressions, for settings that hold one. Provisional.

``compile_regex(text)`` returns a ``JavaPattern``, which has the methods of ``re.Pattern``; it raises ``PatternError``
for an expression that Java refuses or that Python can't express.
"""

from __future__ import annotations

from penstock.java.errors import PatternError
from penstock.java.regex import compile_regex
from penstock.java.regex.pattern import JavaPattern

__all__ = ["JavaPattern", "PatternError", "compile_regex"]
