"""Secrets that are recognized in a text by how they look: the second line, behind those that are known by their origin.

Parameters and members whose names look secret (``Password = x;``, ``"tokens": ["x"]``), headers, users of URLs, logins
of JAAS, private keys, signatures of URLs, and tokens of a known form. A colon alone says little in a sentence, so after
one a secret is looked for only in JSON, in headers, and where it has a digit.

Each expression looks at a bounded number of characters from where it begins to match, so that its time is in proportion
to the text, and is applied only to texts that have what it looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORDS = (
    r"(?:password|passwd|passphrase|(?<![A-Za-z])pass|(?-i:(?<=[a-z])Pass)|pwd|secrets?|credentials?"
    r"|token(?!s\\{0,8}[\"']?\s{0,9}[:=\s]\s{0,9}\d{1,7}(?![\w.-]))"  # but not how many: max_tokens=4096
    r"|(?:api|access|account|private|secret|shared|client|encryption|master|keystore)[._-]?key(?:[._-]?id)?|user\.info"
    r"|connection[._-]?string|(?<![A-Za-z])sig|x-amz-(?:signature|credential|security-token)|jaas\.config)s?"
)
_QUOTED = (
    r'"(?:[^"\\]|\\.){0,8000}"|'
    r"'(?:[^'\\]|\\.){0,8000}'|"
    r'(?P<escape>\\{1,8})"[^\n]{0,2000}?(?<!\\)(?P=escape)"'
)
"""In quotes, those of JSON in JSON included."""
_LIST = r'\[(?:"(?:[^"\\]|\\.){0,8000}"|[^\]"]{1,2000}+){0,300}+\]'
_BARE = r"[^&;\s\"',)}\]]"
_VALUE = rf"(?:{_QUOTED}|{_LIST}|\{{[^}}]{{0,200}}\}}|[^&;\s\"'][^&;\s]*)"
_JSON_VALUE = rf"(?:{_QUOTED}|{_LIST}|(?!null\b|true\b|false\b){_BARE}{{1,8000}})"
_WORD_HINTS = (
    "pass",
    "pwd",
    "secret",
    "token",
    "credential",
    "key",
    "user.info",
    "connection",
    "sig",
    "x-amz-",
    "jaas",
)
_EXPRESSIONS: tuple[tuple[tuple[str, ...], tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (first, second, re.compile(expression))
    for first, second, expression in (
        # Private keys, also in one line with `\n`, and also if the end is missing
        (
            ("private key-----",),
            (),
            r"(?s)(?P<kept>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----)(?P<secret>.*?)(?=-----END |\Z)",
        ),
        # A login of JAAS: `LoginModule required username="x" password="y";`
        (
            ("loginmodule",),
            (),
            r"(?P<kept>LoginModule\\?\s{1,9}(?:required|requisite|sufficient|optional)\s{1,9})"
            r'(?P<secret>(?:\\"[^"]*"|"[^"]*"|[^";\n]){1,8000})',
        ),
        # Headers
        (
            ("authorization",),
            (),
            r"(?i)(?P<kept>\b(?:proxy-)?authorization[\"']?\s{0,9}[:=]\s{0,9}[\"']?(?:(?:basic|bearer|digest|negotiate"
            r"|token|apikey|aws4-hmac-sha256)\s{1,9})?)(?P<secret>[^\s\"'][^\"'\r\n]{0,8000})",
        ),
        (
            ("cookie",),
            (),
            r"(?i)(?P<kept>\b(?:set-)?cookie[\"']?\s{0,9}:\s{0,9}[\"']?)(?P<secret>[^\s\"'][^\"'\r\n]{0,8000})",
        ),
        (
            ("x-",),
            ("key", "token", "secret", "auth"),
            r"(?i)(?P<kept>\bx-[a-z-]{0,40}(?:key|token|secret|auth)[\"']?\s{0,9}:\s{0,9}[\"']?)"
            r"(?P<secret>[^\s\"',]{1,8000})",
        ),
        (
            ("bearer", "basic"),
            (),
            r"(?P<kept>\b(?i:bearer|basic)\s{1,9})"
            r"(?P<secret>(?=[\w.~+/-]{0,400}[0-9A-Z=])[\w.~+/-]{16,8000}=*)",
        ),
        # Parameters and members: `password=x`, `Password = x;`, `"password": "x"`, `--token x`
        (
            ("=", "%3d"),
            _WORD_HINTS,
            rf"(?i)(?P<kept>{_WORDS}(?:\\{{0,8}}[\"'])?\s{{0,9}}(?:=>?|%3D)\s{{0,9}})(?P<secret>(?!=|\?|null\b|none\b){_VALUE})",
        ),
        (
            ('":', "':", '" :', "' :"),
            _WORD_HINTS,
            rf"(?i)(?P<kept>{_WORDS}\\{{0,8}}[\"']\s{{0,9}}:\s{{0,9}})(?P<secret>{_JSON_VALUE})",
        ),
        (
            (": ",),
            _WORD_HINTS,
            rf"(?i)(?P<kept>{_WORDS}:\s{{1,9}})(?P<secret>(?=\S{{0,400}}\d){_BARE}{{6,8000}})",
        ),
        (
            ("--",),
            _WORD_HINTS,
            rf"(?i)(?P<kept>(?<![\w-])--[\w-]{{0,40}}?{_WORDS}\s{{1,9}})(?P<secret>{_QUOTED}|[^\s\"'-]\S*)",
        ),
        # SQL: `IDENTIFIED BY 'x'`, `PASSWORD 'x'`
        (
            ("identified", "password '"),
            ("user", "role", "password"),
            r"(?P<kept>\b(?i:identified\s{1,9}by\s{1,9}(?:password\s{1,9})?|password\s)(?=['\"])"
            r"|\bIDENTIFIED BY (?:PASSWORD )?)(?P<secret>'(?:[^'\\]|''|\\.){1,2000}'|\"(?:[^\"\\]|\"\"|\\.){1,2000}\""
            # Backslashes that are mere characters, and a text that is cut off.
            r"|'[^']{1,2000}'|\"[^\"]{1,2000}\"|['\"]?[^\s;'\"]{1,400})",
        ),
        (
            ("</",),
            ("password", "secret", "token"),
            r"(?i)(?P<kept><(?P<tag>\w{0,40}(?:password|secret|token))>)(?P<secret>[^<]{1,8000})(?=</(?P=tag)>)",
        ),
        # A token in place of the user of a URL; the user of abfss is a container
        (("://",), ("@",), r"(?i)(?P<kept>\bhttps?://)(?P<secret>[^/:@?#\s\"'<>]{1,400})(?=@)"),
        (
            ("://",),
            ("@",),
            r"(?i)(?P<kept>\b(?!abfs|wasb|adl)[a-z][a-z0-9+.-]{1,20}://)"
            r"(?P<secret>(?=[^@/]{0,400}\d)(?=[^@/]{0,400}[a-z])[\w.~%-]{16,400})(?=@)",
        ),
        # Tokens of a known form
        (("akia", "asia"), (), r"(?P<kept>)\b(?P<secret>(?:AKIA|ASIA)[A-Z0-9]{16})\b"),
        (
            ("aiza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat", "xox", "dapi", "sk_live"),
            (),
            r"(?P<kept>)\b(?P<secret>AIza[\w-]{35}|gh[pousr]_\w{30,255}|github_pat_\w{20,255}|glpat-[\w-]{20,255}"
            r"|xox[abeoprs]-[\w-]{10,255}|dapi[0-9a-f]{32}|sk_live_\w{16,255})",
        ),
        (("eyj",), (), r"(?P<kept>)\b(?P<secret>eyJ[\w-]{8,4000}\.eyJ[\w-]{8,8000}(?:\.[\w-]{0,8000})?)"),
    )
)
"""Expressions, each with texts in lower case: one of the first and, if there are any, one of the second are in every
text that it matches.
"""


_QUOTE = re.compile(r"""\\*"|'""")
_BY_NAME = ("=", '":', ": ", "--")
"""The first texts of expressions that find secrets by names before them."""


def looking_secret(text: str) -> Iterator[str]:
    """Yield the secrets in a text that are recognized by their own form, or by a header before them."""
    lower = text.lower()
    for first, second, expression in _EXPRESSIONS:
        if first[0] not in _BY_NAME and _may_match(lower, first, second):
            yield from (found["secret"] for found in expression.finditer(text))


def _may_match(lower: str, first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    return any(hint in lower for hint in first) and (not second or any(hint in lower for hint in second))


def hidden(text: str, mask: str) -> str:
    """Return a text with ``mask`` in place of what looks like a secret; quotes around it stay."""
    lower = text.lower()

    def masked(found: re.Match[str]) -> str:
        kept, secret = found["kept"], found["secret"]
        if secret.isdecimal() and kept.rstrip().endswith(('":', '" :')):
            return f'{kept}"{mask}"'  # else it would be no JSON
        if (quoted := _QUOTE.match(secret)) is not None and secret.endswith(quoted[0]) and secret != quoted[0]:
            return f"{kept}{quoted[0]}{mask}{quoted[0]}"
        if secret.startswith('["') and secret.endswith("]"):
            return f'{kept}["{mask}"]'
        return kept + mask

    for first, second, expression in _EXPRESSIONS:
        if _may_match(lower, first, second):
            text = expression.sub(masked, text)
    return text
