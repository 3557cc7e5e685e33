"""Java's regular expressions (java.util.regex) for Python.

What Python can't express is refused when a pattern is compiled, which is at validation.
"""

from __future__ import annotations

from penstock.java.regex.compiler import compile_regex, full_match
from penstock.java.regex.replacement import replace_all, replace_first, replacer

__all__ = ["compile_regex", "full_match", "replace_all", "replace_first", "replacer"]
