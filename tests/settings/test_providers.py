from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.api.provider import ConfigData, ConfigProvider
from penstock.files import MAX_FILE_BYTES
from penstock.settings import ConfigTransformer, has_reference, with_references
from penstock.settings.providers import (
    BUILT_IN,
    DirectoryConfigProvider,
    EnvVarConfigProvider,
    FileConfigProvider,
)


def resolve(kind: str, name: str) -> type:
    assert kind == "configprovider"
    return next(each for each in BUILT_IN if each.java_name == name)


PROVIDER = "org.apache.kafka.common.config.provider."
WORKER = {
    "config.providers": "file, dir,env",
    "config.providers.file.class": f"{PROVIDER}FileConfigProvider",
    "config.providers.dir.class": f"{PROVIDER}DirectoryConfigProvider",
    "config.providers.env.class": f"{PROVIDER}EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "PENSTOCK_.*",
}


def test_references_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_VALUE", "from-the-environment")
    monkeypatch.setenv("OTHER_VALUE", "not allowed")
    (tmp_path / "s.properties").write_text("topic=orders\nempty=\nname=é\n", "utf-8")
    (tmp_path / "password").write_text("secret")
    file, folder = f"file:{tmp_path / 's.properties'}", f"dir:{tmp_path}"
    transformed = ConfigTransformer.of(WORKER, resolve).transform(
        {
            "plain": "a",
            "whole": f"${{{file}:topic}}",
            "part": f"x-${{{file}:topic}}-${{{folder}:password}}",
            "empty": f"${{{file}:empty}}",
            "latin": f"${{{file}:name}}",
            "missing": f"${{{file}:nothing}}",
            "env": "${env:PENSTOCK_TEST_VALUE}",
            "forbidden": "${env:OTHER_VALUE}",
            "unknown": "${nothing:like:it}",
            "no reference": "${x}",
            "null": None,
        }
    )
    assert transformed == {
        "plain": "a",
        "whole": "orders",
        "part": "x-orders-secret",
        "empty": "",
        "latin": "é",
        "missing": f"${{{file}:nothing}}",
        "env": "from-the-environment",
        "forbidden": "${env:OTHER_VALUE}",
        "unknown": "${nothing:like:it}",
        "no reference": "${x}",
        "null": None,
    }


def test_times_to_live_are_reported() -> None:
    class Vault(ConfigProvider):
        def get(self, path: str, keys: Collection[str] | None = None) -> dict[str, str]:
            found = dict.fromkeys(keys or (), "x")
            return ConfigData(found, int(path)) if path else found

    ttls: list[int] = []
    config = {"a": "${vault:500:a}", "b": "${vault:700:b}", "c": "${vault:-1:c}", "d": "${vault:d}"}
    assert ConfigTransformer({"vault": Vault()}).transform(config, ttls.append) == dict.fromkeys("abcd", "x")
    assert ttls == [500, 700]


def test_without_providers_references_stay() -> None:
    assert ConfigTransformer.of({}, resolve).transform({"a": "${file:/x:y}"}) == {"a": "${file:/x:y}"}


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"Could not read properties from file {tmp_path}/none"):
        ConfigTransformer.of(WORKER, resolve).transform({"a": f"${{file:{tmp_path}/none:y}}"})
    with (tmp_path / "gone").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(ConfigError, match=f"Could not read file {tmp_path}/gone for property gone"):
        ConfigTransformer.of(WORKER, resolve).transform({"a": f"${{dir:{tmp_path}:gone}}"})


def test_files_that_are_not_utf8(tmp_path: Path) -> None:
    for name, content in {"latin": b"caf\xe9", "half": b"a\xed\xa0\x80b"}.items():
        (tmp_path / name).write_bytes(content)
    assert DirectoryConfigProvider().get(str(tmp_path)) == {"latin": "caf\ufffd", "half": "a\ufffdb"}, "as in Java"
    with pytest.raises(ConfigError, match="Could not read properties from file"):
        FileConfigProvider().get(str(tmp_path / "latin"))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"\p{Upper}+", {"HOME"}),
        (r"(?<a>HOME)", {"HOME"}),
        (r"[A-Z&&[^X]]+", {"HOME"}),
        (r"HO\QM\EE", {"HOME"}),
        (r"[A-Z]*_\d", {"HOME_1"}),
        (".*", {"HOME", "HOME_1"}),
    ],
)
def test_allowed_variables_are_a_java_regular_expression(
    pattern: str, names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "HOME_1"):
        monkeypatch.setenv(name, "x")
    provider = EnvVarConfigProvider()
    provider.configure({"allowlist.pattern": pattern})
    assert provider.get("", {"HOME", "HOME_1", "HOME_2"}) == dict.fromkeys(names, "x")


def test_a_regular_expression_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value \[A for configuration allowlist\.pattern: Unclosed char"):
        EnvVarConfigProvider().configure({"allowlist.pattern": "[A"})


def test_a_path_for_the_environment(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text(r"a=\u12x4")
    with pytest.raises(ConfigError, match=r"Could not read properties from file .*/broken: Malformed .* in line 1: "):
        FileConfigProvider().get(str(tmp_path / "broken"))
    with pytest.raises(ConfigError, match="Path is not supported for EnvVarConfigProvider, invalid value '/x'"):
        ConfigTransformer.of(WORKER, resolve).transform({"a": "${env:/x:HOME}"})


def test_a_provider_without_class() -> None:
    with pytest.raises(ConfigError, match=r"`config\.providers\.x\.class`, which says what it is, is missing"):
        ConfigTransformer.of({"config.providers": "x"}, resolve)


def test_allowed_paths(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "in").mkdir()
    for name in ("in/s", "out"):
        (tmp_path / name).write_text("k=v")
    files, folders = FileConfigProvider(), DirectoryConfigProvider()
    for provider in (files, folders):
        provider.configure({"allowed.paths": str(tmp_path / "in")})
    assert files.get(str(tmp_path / "in" / "s"), {"k", "other"}) == {"k": "v"}
    assert folders.get(str(tmp_path / "in")) == {"s": "k=v"}
    with caplog.at_level(logging.WARNING):
        assert files.get(str(tmp_path / "in" / ".." / "out")) == {}
        assert folders.get(str(tmp_path)) == {}
    assert caplog.text.count("is not allowed to be accessed") == 2
    for bad, problem in (("in", "Path in is not absolute"), ("/no/such/path", "Path /no/such/path does not exist")):
        with pytest.raises(ConfigError, match=problem):
            FileConfigProvider().configure({"allowed.paths": bad})


def test_allowed_paths_are_read_as_java_reads_them(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("k=v")
    for given in (f"{tmp_path},", f"/{tmp_path},,", f"{tmp_path}/x/.."):
        provider = FileConfigProvider()
        provider.configure({"allowed.paths": given})
        assert provider.get(f"{tmp_path}/s") == provider.get(f"/{tmp_path}/s") == {"k": "v"}, given
    provider = FileConfigProvider()
    provider.configure({"allowed.paths": ","})
    assert provider.get(f"{tmp_path}/s") == {}
    with pytest.raises(ConfigError, match="is not absolute"):
        provider.configure({"allowed.paths": f",{tmp_path}"})


def test_all_keys_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s").write_text("a=1\nb=2")
    assert FileConfigProvider().get(str(tmp_path / "s")) == {"a": "1", "b": "2"}
    assert DirectoryConfigProvider().get(str(tmp_path / "s")) == {}
    assert FileConfigProvider().get("") == {}
    monkeypatch.setenv("PENSTOCK_X", "1")
    assert EnvVarConfigProvider().get("")["PENSTOCK_X"] == "1"


def test_secrets_do_not_get_into_the_configurations_of_tasks() -> None:
    raw = {"topic": "${file:/s:t}", "file": "f", "null": None}
    task = {"topic": "orders", "file": "f", "task.class": "c"}
    assert with_references(raw, task) == {"topic": "${file:/s:t}", "file": "f", "task.class": "c"}
    assert [has_reference(value) for value in ("${a:b}", "a", None)] == [True, False, False]


@pytest.mark.security
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_a_file_that_never_ends_or_begins_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "secret")
    with pytest.raises(ConfigError, match="Could not read properties from file"):
        ConfigTransformer.of(WORKER, resolve).transform({"a": f"${{file:{tmp_path}/secret:y}}"})
    transformed = ConfigTransformer.of(WORKER, resolve).transform({"a": f"${{dir:{tmp_path}:secret}}"})
    assert transformed == {"a": f"${{dir:{tmp_path}:secret}}"}, "only regular files are offered"
