"""References to config providers are found as Java finds them, in one pass."""

from __future__ import annotations

import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from penstock.settings.providers import references, replaced

JAVA = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")


@given(st.text("${}:a\n", max_size=30))
def test_references_match_javas_pattern(value: str) -> None:
    found = [(each.provider, each.path, each.key, each.text, each.start) for each in references(value)]
    assert found == [(m[1], m[3] or "", m[4], m[0], m.start()) for m in JAVA.finditer(value)]
    assert replaced(value, lambda reference: f"<{reference.key}>") == JAVA.sub(r"<\4>", value)


def test_a_long_value_is_read_in_one_pass() -> None:
    """The time of the pattern grows with the cube: it takes hours. A process, because such a pattern can't be stopped
    otherwise.
    """
    code = (
        "from penstock.settings.providers import has_reference\n"
        "assert not has_reference('${' + ':' * 1_000_000)\n"
        "assert not has_reference('${' * 1_000_000)\n"
        "assert has_reference('${' + ':' * 1_000_000 + '}')\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=900).returncode == 0
