"""The error that ends the demo."""

from __future__ import annotations

from penstock.embedded import EmbeddedError


class DemoError(EmbeddedError):
    """Why the demo can't go on, as one sentence for the person at the terminal."""
