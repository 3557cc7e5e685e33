"""Downloads with Apache Ivy, which is in the PySpark wheel and gets a list of modules to fetch."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.sax.saxutils import quoteattr

from penstock.api.processes import child_environment
from penstock.embedded import maven
from penstock.embedded.home import EmbeddedError, writing
from penstock.embedded.java import Java

_MODULES = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="penstock" module="jars"/>
  <dependencies>{dependencies}</dependencies>
</ivy-module>
"""
_DEPENDENCY = '<dependency org={group} name={artifact} rev={version} transitive="false"/>'
_ARCHIVE = (
    '<dependency org={group} name={artifact} rev={version} transitive="false">'
    '<artifact name={artifact} type="tar.gz" ext="tar.gz" m:classifier={classifier}/></dependency>'
)
_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" usepoms="false" root={repository}/></resolvers>
</ivysettings>
"""


def download(
    modules: Iterable[tuple[str, ...]],
    scratch: Path,
    runtime: Java,
    repository: str,
    advance: Callable[[], None],
) -> str:
    """Puts the jars of ``modules`` (group, artifact, version), no others, into ``scratch``; returns what Ivy printed.

    A module with a fourth part, a classifier, is an archive, ``tar.gz``.

    ``advance`` is called for each that has arrived. One that can't be had is just not there afterwards.
    """
    names = ("group", "artifact", "version", "classifier")
    dependencies = "".join(
        (_DEPENDENCY if len(module) == 3 else _ARCHIVE).format(
            **{name: quoteattr(part) for name, part in zip(names, module, strict=False)}
        )
        for module in modules
    )
    with writing(scratch):
        (scratch / "ivy.xml").write_text(_MODULES.format(dependencies=dependencies))
        (scratch / "settings.xml").write_text(_SETTINGS.format(repository=quoteattr(repository)))
        options = maven.jvm_options(scratch, runtime)
    command = [
        *(str(runtime.executable), "-Xmx256m", *options, "-jar", str(jar())),
        *("-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")),
        *("-cache", str(scratch / "cache"), "-retrieve", str(scratch / "[artifact]-[revision].[ext]")),
    ]
    lines = []
    nothing, pipe, same = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(
        command, stdin=nothing, stdout=pipe, stderr=same, env=child_environment(), text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if "[SUCCESSFUL ]" in line:
                advance()
    return "\n".join(lines)


def jar() -> Path:
    """Ivy in the installed PySpark. Raises EmbeddedError when there is none."""
    pyspark = importlib.util.find_spec("pyspark")
    found = sorted(Path(pyspark.origin).parent.glob("jars/ivy-*.jar")) if pyspark and pyspark.origin else []
    if not found:
        raise EmbeddedError(
            "PySpark is not installed here, or without its jars: Ivy, which fetches jars, is one of them."
        )
    return found[-1]
