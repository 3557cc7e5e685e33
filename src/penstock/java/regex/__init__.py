r"""Java's regular expressions (java.util.regex) for Python.

What Python can't express is refused when a pattern is compiled, which is at validation. The package ``regex`` can't
replace this translation: of the patterns in our record of Java's answers it reads 12 of 85 that Java takes otherwise or
not at all (``\Q..\E``, ``\x{61}``, ``\cA``, ``[[:alpha:]]``), takes 11 of 34 that Java refuses, and has none of
Java's messages.
"""

from __future__ import annotations

from penstock.java.regex.compiler import compile_regex, full_match
from penstock.java.regex.replacement import replace_all, replace_first, replacer

__all__ = ["compile_regex", "full_match", "replace_all", "replace_first", "replacer"]
