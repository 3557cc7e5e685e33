"""Exceptions of the JDK and Jackson where this package reproduces them; ``java_name`` is the class that traces show.

They are ``ValueError``s, not errors of Kafka Connect: a caller that knows which setting or record is wrong raises a
``ConfigError`` or ``DataError`` from them.
"""

from __future__ import annotations

from typing import ClassVar


class JavaError(ValueError):
    """An argument that Java refuses; the message is Java's where Java's can be seen."""

    java_name: ClassVar[str] = "java.lang.IllegalArgumentException"


class PatternError(JavaError):
    """A regular expression that Java, or our translation, refuses; its text is that of
    ``PatternSyntaxException.getMessage``.
    """

    java_name = "java.util.regex.PatternSyntaxException"

    def __init__(self, description: str, index: int, pattern: str) -> None:
        where = f" near index {index}" if index >= 0 else ""
        pointer = f"\n{' ' * index}^" if 0 <= index < len(pattern) else ""
        super().__init__(f"{description}{where}\n{pattern}{pointer}")


class MatchTimeoutError(JavaError):
    """A regular expression that can't be matched in any reasonable time; Java would not come back."""

    def __init__(self, pattern: str, text: str, seconds: float) -> None:
        super().__init__(f"The regular expression {pattern} can't be matched with '{text}' within {seconds:g} s")


class ReplacementError(JavaError):
    """A replacement text that Java refuses when it is used."""


class NoSuchGroupError(JavaError):
    """A replacement text that names a group by a number that the pattern does not have."""

    java_name = "java.lang.IndexOutOfBoundsException"


class NumberFormatError(JavaError):
    """A text that is no number, or none of the type."""

    java_name = "java.lang.NumberFormatException"


class DateParseError(JavaError):
    """A text that does not match the pattern of a ``SimpleDateFormat``."""

    java_name = "java.text.ParseException"


class DatePatternError(JavaError):
    """A pattern that ``SimpleDateFormat`` refuses."""


class JsonError(JavaError):
    """JSON that Jackson refuses to read, or a value it can't write; the text is that of ``Throwable.toString``, with
    the class.
    """

    java_name = "com.fasterxml.jackson.core.JsonProcessingException"


class PropertiesError(JavaError):
    """A text that is not in the format of ``java.util.Properties``."""


class KeyStoreError(JavaError):
    """A key store that can't be opened, or lacks what is asked of it. The message is a clause about "the key store"."""

    java_name = "java.security.KeyStoreException"


class JaasError(JavaError):
    """A JAAS configuration that can't be read. The message shows none of its values, which may be secrets."""
