"""Kafka's own config providers, and the resolution of references such as ``${file:/etc/secrets.properties:password}``
(KIP-297).

Java: ``FileConfigProvider``, ``DirectoryConfigProvider``, ``EnvVarConfigProvider``, ``ConfigTransformer``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from penstock import KAFKA_VERSION
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError
from penstock.api.provider import ConfigData, ConfigProvider
from penstock.files import read_file
from penstock.java.errors import PatternError, PropertiesError
from penstock.java.properties import parse_properties
from penstock.java.regex import compile_regex, full_match
from penstock.java.regex.pattern import JavaPattern
from penstock.java.text import decoded_utf8

__all__ = ["DirectoryConfigProvider", "EnvVarConfigProvider", "FileConfigProvider"]

log = logging.getLogger(__name__)

_PACKAGE = "org.apache.kafka.common.config.provider."


class _PathProvider(ConfigProvider):
    """Base of providers that read files: ``allowed.paths`` limits them to some folders."""

    _allowed: tuple[str, ...] | None = None

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "allowed.paths",
            ConfigType.STRING,
            None,
            importance=Importance.LOW,
            documentation="Absolute paths, separated by commas, outside of which nothing is read. By default all are.",
        )

    def configure(self, config: Mapping[str, str]) -> None:
        given = config.get("allowed.paths")
        if not given:
            return
        named = given.rstrip(",")  # after which Java sees no further path
        paths = [_normal(path) for path in named.split(",")] if named else []
        for path in paths:
            if not os.path.isabs(path):
                raise ConfigError(f"Path {path} is not absolute")
            if not os.path.exists(path):
                raise ConfigError(f"Path {path} does not exist")
        self._allowed = tuple(paths)

    def _permitted(self, path: str) -> Path | None:
        if self._allowed is None:
            return Path(path)
        normal = Path(_normal(path))
        if any(normal.is_relative_to(allowed) for allowed in self._allowed):
            return normal
        log.warning("The path %s is not allowed to be accessed", path)
        return None


def _normal(path: str) -> str:
    """Normalize a path as ``java.nio.file.Path.normalize`` does: two slashes at the beginning become one."""
    normal = os.path.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


class FileConfigProvider(_PathProvider):
    """``${file:/path/to.properties:key}``: a key of a properties file, which is read as UTF-8."""

    java_name = f"{_PACKAGE}FileConfigProvider"

    def get(self, path: str, keys: Collection[str] | None = None) -> dict[str, str]:
        file = self._permitted(path) if path else None
        if file is None:
            return {}
        try:
            found = parse_properties(read_file(file).decode("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            log.error("Could not read properties from file %s: %s", path, error)
            raise ConfigError(f"Could not read properties from file {path}") from error
        except PropertiesError as error:
            raise ConfigError(f"Could not read properties from file {path}: {error}") from error
        return found if keys is None else {key: found[key] for key in keys if key in found}


class DirectoryConfigProvider(_PathProvider):
    """``${dir:/path:name}``: the content of a file of that name, as Kubernetes mounts secrets."""

    java_name = f"{_PACKAGE}DirectoryConfigProvider"

    def get(self, path: str, keys: Collection[str] | None = None) -> dict[str, str]:
        folder = self._permitted(path) if path else None
        if folder is None:
            return {}
        if not folder.is_dir():
            log.warning("The path %s is not a directory", path)
            return {}
        try:
            files = [file for file in folder.iterdir() if file.is_file() and (keys is None or file.name in keys)]
        except OSError as error:
            raise ConfigError(f"Could not list directory {folder}") from error
        return {file.name: self._content(file) for file in files}

    def _content(self, file: Path) -> str:
        try:
            return decoded_utf8(read_file(file))
        except OSError as error:
            raise ConfigError(f"Could not read file {file} for property {file.name}") from error


class EnvVarConfigProvider(ConfigProvider):
    """``${env:NAME}``: a variable of the worker's environment; ``allowlist.pattern`` says which may be read."""

    java_name = f"{_PACKAGE}EnvVarConfigProvider"
    _pattern: JavaPattern | None = None
    """Pattern of the variables that may be read; None for all."""

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "allowlist.pattern",
            ConfigType.STRING,
            ".*",
            importance=Importance.LOW,
            documentation="A regular expression of Java's that the names of readable variables match as a whole.",
        )

    def configure(self, config: Mapping[str, str]) -> None:
        if (pattern := config.get("allowlist.pattern")) is not None:
            try:
                self._pattern = compile_regex(pattern)
            except PatternError as error:
                raise ConfigError("allowlist.pattern", pattern, str(error)) from error

    def get(self, path: str, keys: Collection[str] | None = None) -> dict[str, str]:
        if path:
            raise ConfigError(f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'")
        names = os.environ if keys is None else [key for key in keys if key in os.environ]
        allowed = self._pattern
        return {name: os.environ[name] for name in names if allowed is None or full_match(allowed, name)}


BUILT_IN = (FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider)


class ConfigTransformer:
    """Resolves references with a worker's config providers. A reference to an unknown provider stays as it is."""

    def __init__(
        self, providers: Mapping[str, ConfigProvider], seen: Callable[[Collection[str]], None] = lambda values: None
    ) -> None:
        """``seen`` is called with the values that take the place of references."""
        self._providers, self._seen = providers, seen

    @classmethod
    def of(
        cls,
        worker_config: Mapping[str, str],
        resolve: Callable[[str, str], type],
        seen: Callable[[Collection[str]], None] = lambda values: None,
        only: Collection[str] | None = None,
    ) -> ConfigTransformer:
        """Create the providers of ``config.providers``; ``resolve(kind, name)`` finds their classes. Raises
        ConfigError.

        ``only``: the names of those that are wanted.
        """
        names = [name.strip() for name in worker_config.get("config.providers", "").split(",") if name.strip()]
        if only is not None:
            names = [name for name in names if name in only]
        return cls({name: _provider(name, worker_config, resolve) for name in names}, seen)

    @overload
    def transform(self, config: Mapping[str, str], expires: Callable[[int], None] = ...) -> dict[str, str]: ...
    @overload
    def transform(
        self, config: Mapping[str, str | None], expires: Callable[[int], None] = ...
    ) -> dict[str, str | None]: ...
    def transform(self, config: Mapping[str, Any], expires: Callable[[int], None] = lambda ttl: None) -> dict[str, Any]:
        """The configuration with values instead of references. Raises ConfigError if a provider can't read them.

        ``expires`` is called with the times to live that providers give, in milliseconds.
        """
        wanted: dict[tuple[str, str], set[str]] = {}
        for value in config.values():
            for reference in references(value):
                if reference.provider in self._providers:
                    wanted.setdefault((reference.provider, reference.path), set()).add(reference.key)
        if not wanted:
            return dict(config)
        found = {(name, path): self._providers[name].get(path, keys) for (name, path), keys in wanted.items()}
        self._seen(
            [value for (name, path), keys in wanted.items() for key, value in found[name, path].items() if key in keys]
        )

        for values in found.values():
            if isinstance(values, ConfigData) and values.ttl_ms is not None and values.ttl_ms >= 0:
                expires(values.ttl_ms)

        def value_of(reference: ProviderReference) -> str:
            values = found.get((reference.provider, reference.path), {})
            return values.get(reference.key, reference.text)

        return {key: value and replaced(value, value_of) for key, value in config.items()}

    def of_files(self) -> ConfigTransformer:
        """Return a transformer that replaces only references to Kafka's own providers of local files, which answer at
        once.
        """
        return ConfigTransformer({n: each for n, each in self._providers.items() if isinstance(each, _PathProvider)})

    def close(self) -> None:
        for provider in self._providers.values():
            provider.close()


def has_reference(value: str | None) -> bool:
    """Return whether a value has a reference to a config provider."""
    return next(references(value), None) is not None


def with_references(raw: Mapping[str, str | None], config: Mapping[str, str]) -> dict[str, str]:
    """A task's configuration with the connector's own references in place of the resolved values.

    So secrets do not get into the config topic. Java: ``AbstractHerder.reverseTransform``.
    """
    given = {key: value for key, value in raw.items() if value is not None and has_reference(value)}
    return {key: given.get(key, value) for key, value in config.items()}


def _provider(name: str, worker_config: Mapping[str, str], resolve: Callable[[str, str], type]) -> ConfigProvider:
    key = f"config.providers.{name}.class"
    named = worker_config.get(key)
    if named is None:
        raise ConfigError(f"`config.providers` names `{name}`, but `{key}`, which says what it is, is missing")
    provider: ConfigProvider = resolve("configprovider", named)()
    prefix = f"config.providers.{name}.param."
    provider.configure({k.removeprefix(prefix): v for k, v in worker_config.items() if k.startswith(prefix)})
    return provider


@dataclass(frozen=True, slots=True)
class ProviderReference:
    """Reference to a config provider in a value: ``${provider:path:key}`` or ``${provider:key}``."""

    provider: str
    path: str
    """Empty if the reference has no path."""
    key: str
    text: str
    """The reference as it was written."""
    start: int
    """Its index in the value."""


def references(value: str | None) -> Iterator[ProviderReference]:
    """Yield the references in a value from left to right. Text of another form, such as ``${x}``, is none.

    One pass finds them: anybody who may create a connector sends such values. Java: the pattern of
    ``ConfigTransformer``, ``\\$\\{([^}]*?):(([^}]*?):)?([^}]*?)\\}``, whose time grows with the cube of a value's
    length.
    """
    end = 0
    while value is not None and (start := value.find("${", end)) >= 0 and (close := value.find("}", start)) >= 0:
        end = close + 1
        provider, colon, rest = value[start + 2 : close].partition(":")
        if colon:
            path, colon, key = rest.partition(":")
            yield ProviderReference(provider, path if colon else "", key if colon else path, value[start:end], start)


def replaced(value: str, by: Callable[[ProviderReference], str]) -> str:
    """Return the value with every reference replaced."""
    parts, end = [], 0
    for reference in references(value):
        parts += [value[end : reference.start], by(reference)]
        end = reference.start + len(reference.text)
    return "".join([*parts, value[end:]])
