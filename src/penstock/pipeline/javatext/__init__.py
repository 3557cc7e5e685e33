"""Java's dialects: how values print, regular expressions, date patterns, the order of hash maps. They have their home
here only.

What Python can't express is refused with ConfigError when a pattern is compiled, which is at validation.
"""

from __future__ import annotations

from penstock.api.floats import double_text, float32, float_text
from penstock.api.printing import to_string, to_strings
from penstock.pipeline.javatext.dates import DateFormat
from penstock.pipeline.javatext.hashmap import hash_map
from penstock.pipeline.javatext.regex import compile_regex, full_match
from penstock.pipeline.javatext.regexscan import PatternError
from penstock.pipeline.javatext.replacement import replace_all, replace_first, replacer

__all__ = [
    "DateFormat",
    "PatternError",
    "compile_regex",
    "double_text",
    "float32",
    "float_text",
    "full_match",
    "hash_map",
    "replace_all",
    "replace_first",
    "replacer",
    "to_string",
    "to_strings",
]
