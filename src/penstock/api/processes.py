"""Child processes: a leash, on which none outlives its parent, and which of its secrets they get. Provisional."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

ENVIRONMENT = "PENSTOCK_ENVIRONMENT"
"""A variable with patterns of further variables that children get, separated by commas: a worker sets it from its
setting ``penstock.plugins.environment``, and all processes inherit it.
"""
COMMAND = "PENSTOCK_COMMAND"
"""A variable with the main class and the arguments that the process would have in Java Connect: plugins from jars find
them in the property ``sun.java.command``, and read the worker's properties file.
"""
CLASS_PATH = "PENSTOCK_CLASS_PATH"
"""A variable with the jars and folders of the worker's ``CLASSPATH``, for the JVMs of plugins. Only the worker and the
doctor read ``CLASSPATH`` itself: YARN sets that in its containers to all of Spark's jars.
"""
_VARIABLES = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "HOSTNAME", "LANG", "LANGUAGE", "TZ", "TZDIR"),
        *("TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV"),
        *("JAVA_HOME", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        # Where clouds have credentials, and which ones; not the credentials themselves
        *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
        *("AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CA_BUNDLE"),
        *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        *("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_STS_REGIONAL_ENDPOINTS", "AWS_EC2_METADATA_DISABLED"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CONFIG", "GCE_METADATA_HOST"),
        *("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST"),
        *("AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_CONFIG_DIR", "IDENTITY_ENDPOINT", "MSI_ENDPOINT"),
    }
)
_PATTERNS = (
    *("LC_*", "XDG_*", "KRB5*", "PYTHON*", "CONDA_*", "COVERAGE_*", "MALLOC_*", "OMP_*", "OPENBLAS_*", "MKL_*"),
    *(
        "PENSTOCK_*",
        "SPARK_*",
        "PYSPARK_*",
        "HADOOP_*",
        "YARN_*",
        "HIVE_*",
        "KUBERNETES_SERVICE_*",
        "AWS_ENDPOINT_URL*",
    ),
    "OTEL_*",
)
_SECRET_VARIABLE = re.compile(r"(?i)pass|pwd|secret|token|credential|key|header|jaas|^PENSTOCK_USER$")
_SECRET_OPTION = re.compile(
    r"(?i)(?:pass|pwd|secret|token|credential|jaas|api.?key|access.?key|account.?key|private.?key)[^=]*=|://[^/\s@]+@"
)


def child_environment(parent: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a child process that runs code of plugins.

    It has known variables of the system, Java, Python, Spark, Kerberos and proxies, but for those whose names look like
    secrets, and what ``ENVIRONMENT`` allows.
    """
    more = [pattern.strip() for pattern in parent.get(ENVIRONMENT, "").split(",") if pattern.strip()]
    return {name: value for name, value in parent.items() if _is_passed_on(name, more)}


def _is_passed_on(name: str, more: Sequence[str]) -> bool:
    if name in _VARIABLES or any(fnmatchcase(name, pattern) for pattern in more):
        return True
    return not _SECRET_VARIABLE.search(name) and any(fnmatchcase(name, pattern) for pattern in _PATTERNS)


def is_secret_option(option: str) -> bool:
    """Whether an option of Java looks like one with a secret, so that it may not be on a command line."""
    return _SECRET_OPTION.search(option) is not None


def java_options(options: Sequence[str], file: Path, is_secret: Callable[[str], bool] = is_secret_option) -> list[str]:
    """Return options for Java's command line, which all users of the machine can read.

    Those with secrets are written to ``file``, which only this user may read, and which has to be there until Java has
    started; it takes their place.
    """
    secret = [option for option in options if is_secret(option)]
    if not secret:
        return [*options]
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as written:
        os.fchmod(written.fileno(), 0o600)
        written.writelines(f"{_quoted(option)}\n" for option in secret)
    return [*(option for option in options if option not in secret), f"@{file}"]


def _quoted(option: str) -> str:
    escaped = option.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


# The shell becomes the command. What it leaves behind reads a pipe that nobody writes to: the pipe ends when its owner
# dies, however it dies, and then the command is ended. (PR_SET_PDEATHSIG would fire when the starting *thread* ends,
# and is Linux only. Descriptor 3, since a shell gives /dev/null to what it runs in the background.)
_ENDS = "kill -TERM $$; sleep 10; kill -KILL $$; } >/dev/null 2>&1"
_LEASHED = f'exec 3<&0; {{ cat <&3; {_ENDS} & exec 3<&- </dev/null; exec "$@"'
_LEASHED_BESIDE = f'leash=$1; shift; {{ cat "/proc/self/fd/$leash"; {_ENDS} </dev/null & exec "$@"'


def leashed(command: Sequence[str]) -> list[str]:
    """Return ``command`` on a leash, to be started in a session of its own with a pipe as its standard input.

    To end it, kill its process group, so that nothing of the leash stays.
    """
    return ["/bin/sh", "-c", _LEASHED, "leash", *command]


def leashed_beside(descriptor: int, command: Sequence[str]) -> list[str]:
    """Return ``command`` on a leash if it reads its standard input: the pipe is ``descriptor``, which it inherits."""
    return ["/bin/sh", "-c", _LEASHED_BESIDE, "leash", str(descriptor), *command]
