"""Config providers and override policies from jars: objects in the worker's JVM that live as long as the worker."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.errors import ConnectError
from penstock.api.override_policy import ClientOverridePolicy
from penstock.api.provider import ConfigData, ConfigProvider
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.plugins.catalogue import JavaPlugin
from penstock.hosts.jvm.plugins.control import CALL_SECONDS, ControlJvm
from penstock.hosts.jvm.session import Session


class _Object:
    """One configured object; made again in a new JVM if its JVM has ended.

    Calls run side by side, as in Java Connect, each on a lane of its session: one that hangs delays no other.
    """

    def __init__(self, kind: str, plugin: JavaPlugin, jvm: ControlJvm, config: Mapping[str, str]) -> None:
        self._kind, self._plugin, self._jvm, self._config = kind, plugin, jvm, dict(config)
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._free: list[str] = []
        """Lanes on which no call runs."""
        self._lanes = itertools.count(1)
        self._opened()

    def _opened(self) -> Session:
        with self._lock:
            if self._session is None:
                session = self._jvm.open(self._plugin.name, f"{self._kind}-{self._plugin.name.rpartition('.')[2]}")
                made = {**self._plugin.reference, "config": self._config}
                session.call(f"{self._kind}.create", made, timeout=CALL_SECONDS)
                self._session = session
            return self._session

    def call(self, method: str, args: Mapping[str, Any]) -> Any:
        for _ in range(2):
            try:
                session = self._opened()
                with self._lane() as lane:
                    return session.call(f"{self._kind}.{method}", args, lane=lane, timeout=CALL_SECONDS).result
            except HostLost:
                with self._lock:
                    self._session = None
        raise ConnectError(f"{self._plugin.name} ends its JVM each time it is called")

    @contextmanager
    def _lane(self) -> Iterator[str]:
        """A lane for one call. If that does not return in time, nobody else gets the lane."""
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
    _object: _Object | None = None

    @classmethod
    def version(cls) -> str:
        return cls.java_plugin.version

    def configure(self, config: Mapping[str, str]) -> None:
        self._object = _Object("provider", self.java_plugin, self.jvm, config)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        assert self._object is not None
        asked = {"path": path, "keys": None if keys is None else sorted(keys)}
        found = self._object.call("get", asked)
        return ConfigData(found["data"], found["ttl"])

    def close(self) -> None:
        if self._object is not None:
            self._object.close()


class JavaOverridePolicy(ClientOverridePolicy):
    """Base of override policies from jars."""

    java_plugin: ClassVar[JavaPlugin]
    jvm: ClassVar[ControlJvm]
    _object: _Object | None = None

    @classmethod
    def version(cls) -> str:
        return cls.java_plugin.version

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:
        self._object = _Object("policy", self.java_plugin, self.jvm, config)

    def validate_request(
        self, client: str, overrides: Mapping[str, str | None], props: Mapping[str, str | None], source: bool
    ) -> list[ConfigValue]:
        """Check the overrides of one client, ``producer``, ``consumer`` or ``admin``, of the connector ``props``."""
        assert self._object is not None
        asked = {
            "client": client,
            "overrides": dict(overrides),
            "connector": props.get("name"),
            "class": props.get("connector.class"),
            "type": "source" if source else "sink",
        }
        return [
            ConfigValue(each["name"], each["value"], each["recommended"], each["errors"], each["visible"])
            for each in self._object.call("validate", asked)
        ]
