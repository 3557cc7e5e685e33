"""Config providers and override policies from jars: objects in the worker's JVM that live as long as the worker."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, TypeVar

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.errors import ConnectError
from penstock.api.override_policy import ClientOverridePolicy
from penstock.api.provider import ConfigData, ConfigProvider
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.messages.base import JavaRequest
from penstock.hosts.jvm.messages.worker import (
    CreateJavaPolicy,
    CreateJavaProvider,
    ReadProvidedConfig,
    ValidateByPolicy,
)
from penstock.hosts.jvm.plugins.catalogue import JavaPlugin
from penstock.hosts.jvm.plugins.config_def import validated_values
from penstock.hosts.jvm.plugins.control import CALL_SECONDS, ControlJvm
from penstock.hosts.jvm.session import JvmSession

R = TypeVar("R")


class _ConfiguredObject:
    """A configured object; made again in a new JVM if its JVM has ended.

    Requests run side by side, as in Java Connect, each on a lane of the session: one that hangs delays no other.
    """

    def __init__(
        self, kind: str, plugin: JavaPlugin, jvm: ControlJvm, create: CreateJavaProvider | CreateJavaPolicy
    ) -> None:
        self._kind, self._plugin, self._jvm, self._create = kind, plugin, jvm, create
        self._lock = threading.Lock()
        self._session: JvmSession | None = None
        self._free: list[str] = []
        """Lanes on which no request runs."""
        self._lanes = itertools.count(1)
        self._opened()

    def _opened(self) -> JvmSession:
        with self._lock:
            if self._session is None:
                session = self._jvm.open(self._plugin.name, f"{self._kind}-{self._plugin.name.rpartition('.')[2]}")
                session.call(self._create, timeout=CALL_SECONDS)
                self._session = session
            return self._session

    def call(self, request: JavaRequest[R]) -> R:
        """Send a request, and once more in a new JVM if the JVM ends. Raises ConnectError and the plugin's error."""
        for _ in range(2):
            try:
                session = self._opened()
                with self._lane() as lane:
                    return session.call(request, lane=lane, timeout=CALL_SECONDS).result
            except HostLost:
                with self._lock:
                    self._session = None
        raise ConnectError(f"{self._plugin.name} ends its JVM each time it is called")

    @contextmanager
    def _lane(self) -> Iterator[str]:
        """Reserve a lane for one request. It is not used again if that does not return in time."""
        try:
            lane = self._free.pop()
        except IndexError:
            lane = f"call-{next(self._lanes)}"
        try:
            yield lane
        except TimeoutError:
            raise
        except BaseException:
            self._free.append(lane)
            raise
        self._free.append(lane)

    def close(self) -> None:
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()


class JavaConfigProvider(ConfigProvider):
    """Base of config providers from jars."""

    java_plugin: ClassVar[JavaPlugin]
    jvm: ClassVar[ControlJvm]
    _object: _ConfiguredObject | None = None

    @classmethod
    def version(cls) -> str:
        return cls.java_plugin.version

    def configure(self, config: Mapping[str, str]) -> None:
        create = CreateJavaProvider(self.java_plugin.reference, dict(config))
        self._object = _ConfiguredObject("provider", self.java_plugin, self.jvm, create)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        assert self._object is not None
        found = self._object.call(ReadProvidedConfig(path, None if keys is None else sorted(keys)))
        return ConfigData(found.data, found.ttl)

    def close(self) -> None:
        if self._object is not None:
            self._object.close()


class JavaOverridePolicy(ClientOverridePolicy):
    """Base of override policies from jars."""

    java_plugin: ClassVar[JavaPlugin]
    jvm: ClassVar[ControlJvm]
    _object: _ConfiguredObject | None = None

    @classmethod
    def version(cls) -> str:
        return cls.java_plugin.version

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:
        create = CreateJavaPolicy(self.java_plugin.reference, dict(config))
        self._object = _ConfiguredObject("policy", self.java_plugin, self.jvm, create)

    def validate_request(
        self, client: str, overrides: Mapping[str, str | None], props: Mapping[str, str | None], source: bool
    ) -> list[ConfigValue]:
        """Check the overrides of one client, ``producer``, ``consumer`` or ``admin``, of the connector ``props``."""
        assert self._object is not None
        request = ValidateByPolicy(
            client, dict(overrides), props.get("name"), props.get("connector.class"), "source" if source else "sink"
        )
        found = self._object.call(request)
        return validated_values(found, {})
