"""Classes of plugins: which are built in, which run from a jar, which need a jar here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.api.errors import ConfigError
from penstock.core.config.catalog import Catalog
from penstock.core.config.overrides import is_built_in
from penstock.doctor.findings import NOT_RESOLVED, Finding, Section, Verdict
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.settings.providers import has_reference


def judge_class(catalog: Catalog, subject: str, name: str, version: str = "") -> Finding:
    """``version``: the one that the Java cluster has."""
    name = name.strip()
    if has_reference(name):
        return Finding(Verdict.UNCHECKED, subject, NOT_RESOLVED)
    if problem := catalog.problem(name):
        java = "; penstock.java.home chooses another Java" if "compiled for Java" in problem else ""
        return Finding(Verdict.REFUSED, subject, f"{problem}{java}")
    found = catalog.load_any(name)
    if found is not None:
        if isinstance(found.type, type) and issubclass(found.type, RegistryConverter):
            try:
                found.type.check_libraries()
            except ConfigError as error:
                return Finding(Verdict.REFUSED, subject, str(error))
        where = (
            "built in, a Python package, or on the class path"
            if found.location == "classpath"
            else f"from {found.location}"
        )
        return Finding(Verdict.WORKS, subject, f"{found.java_name}: {where}")
    if is_built_in(name):
        return Finding(Verdict.WORKS, subject, f"{name}: built in")
    which = f" in version {version}" if version and version not in ("undefined", "null") else ""
    what = f"{name} is neither built in nor in plugin.path: put its jars{which} there, and it runs in a JVM"
    return Finding(Verdict.NEEDS_JAR, subject, what)


def judge_plugins(catalog: Catalog, listing: Iterable[Mapping[str, str]]) -> Section:
    """The answer to ``GET /connector-plugins`` of a Java cluster."""
    versions = {each["class"]: each.get("version") or "" for each in listing}
    found = [judge_class(catalog, name, name, version) for name, version in sorted(versions.items())]
    return Section("Plugins of the cluster", tuple(found))
