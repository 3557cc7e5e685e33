"""References of plugins to classes and members of Kafka, in class files that are made here."""

from __future__ import annotations

import contextlib
import struct
import zipfile
from pathlib import Path

import pytest

from hosts.plugins import plugin_path
from penstock.doctor.class_files import ClassFile, ClassFileError
from penstock.doctor.findings import Finding, Verdict
from penstock.doctor.references import JarClasses, judge_references, missing
from penstock.embedded.jars import jars

OBJECT = "java/lang/Object"
UTILS = "org/apache/kafka/common/utils/Utils"
TASK = "org/apache/kafka/connect/sink/SinkTask"
SPECIAL = "org/apache/kafka/connect/sink/SpecialTask"

Member = tuple[str, str]


class Pool:
    """Constants of a class file; each number of a wide kind takes two places."""

    def __init__(self) -> None:
        self.constants: list[bytes] = [struct.pack(">Bq", 5, 7), b""]

    def add(self, constant: bytes) -> int:
        self.constants.append(constant)
        return len(self.constants)

    def text(self, text: str) -> int:
        return self.add(struct.pack(">BH", 1, len(text.encode())) + text.encode())

    def cls(self, name: str) -> int:
        return self.add(struct.pack(">BH", 7, self.text(name)))

    def method(self, owner: str, name: str, descriptor: str) -> int:
        pair = self.add(struct.pack(">BHH", 12, self.text(name), self.text(descriptor)))
        return self.add(struct.pack(">BHH", 10, self.cls(owner), pair))


def made(
    name: str,
    parent: str = OBJECT,
    interfaces: tuple[str, ...] = (),
    members: tuple[Member, ...] = (),
    classes: tuple[str, ...] = (),
    calls: tuple[tuple[str, str, str], ...] = (),
) -> bytes:
    """Return a class file with these members, which refers to these classes and methods."""
    pool = Pool()
    for each in classes:
        pool.cls(each)
    for call in calls:
        pool.method(*call)
    head = struct.pack(">4H", 1, pool.cls(name), pool.cls(parent), len(interfaces))
    head += b"".join(struct.pack(">H", pool.cls(each)) for each in interfaces)
    body = struct.pack(">HH", 0, len(members))
    for member, descriptor in members:
        body += struct.pack(">4HHI3s", 1, pool.text(member), pool.text(descriptor), 1, pool.text("Code"), 3, b"xyz")
    constants = b"".join(pool.constants)
    return b"\xca\xfe\xba\xbe" + struct.pack(">HHH", 0, 61, len(pool.constants) + 1) + constants + head + body


def jar(path: Path, *classes: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for each in classes:
            archive.writestr(f"{ClassFile(each).name}.class", each)
    return path


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return jar(
        tmp_path / "host.jar",
        made(UTILS, members=(("join", "(Ljava/lang/String;[I)V"), ("<init>", "()V"))),
        made(TASK, members=(("put", "(Ljava/util/Collection;)V"), ("<init>", "()V"))),
        made(SPECIAL, parent=TASK),
        made("org/apache/kafka/common/KafkaException", parent="java/lang/RuntimeException"),
    )


def lacks(host: Path, *classes: bytes) -> dict[str, set[str]]:
    plugin = jar(host.with_name("plugin.jar"), *classes)
    with JarClasses([host]) as known:
        return missing([plugin], known)


def test_references_to_what_is_there_are_found(host: Path) -> None:
    calls = (
        (UTILS, "join", "(Ljava/lang/String;[I)V"),
        (SPECIAL, "put", "(Ljava/util/Collection;)V"),
        (SPECIAL, "hashCode", "()I"),
        ("org/apache/kafka/common/KafkaException", "getMessage", "()Ljava/lang/String;"),
        ("com/x/Nowhere", "run", "()V"),
    )
    assert lacks(host, made("com/x/Plugin", classes=(f"[[L{UTILS};", "[I", "com/x/Nothing"), calls=calls)) == {}


def test_a_class_that_is_not_there_is_named_with_those_that_refer_to_it(host: Path) -> None:
    gone = "org/apache/kafka/common/utils/internals/AppInfoParser"
    users = (made("com/x/One", classes=(gone,)), made("com/x/Two", classes=(f"[L{gone};",)))
    assert lacks(host, *users) == {"org.apache.kafka.common.utils.internals.AppInfoParser": {"com.x.One", "com.x.Two"}}


def test_a_method_with_other_arguments_is_not_there(host: Path) -> None:
    calls = ((UTILS, "join", "(Ljava/lang/String;[[J)V"), (SPECIAL, "<init>", "()V"), (TASK, "gone", "()V"))
    assert lacks(host, made("com/x/One", calls=calls)) == {
        "org.apache.kafka.common.utils.Utils.join(String, long[][])": {"com.x.One"},
        "org.apache.kafka.connect.sink.SpecialTask.<init>()": {"com.x.One"},
        "org.apache.kafka.connect.sink.SinkTask.gone()": {"com.x.One"},
    }


def test_classes_of_kafka_that_a_plugin_brings_are_its_own_where_the_host_has_none(host: Path) -> None:
    streams, new = "org/apache/kafka/streams/KafkaStreams", ("added", "()V")
    calls = ((streams, *new), (UTILS, *new))
    brought = made(streams, members=(new,)), made(UTILS, members=(new,))
    user = made("com/x/One", calls=calls)
    assert lacks(host, *brought, user) == {"org.apache.kafka.common.utils.Utils.added()": {"com.x.One"}}


def test_the_converters_of_kafka_that_a_plugin_brings_hide_those_of_the_host(host: Path) -> None:
    converter, new = "org/apache/kafka/connect/json/JsonConverter", ("added", "()V")
    brought, user = made(converter, members=(new,)), made("com/x/One", calls=((converter, *new),))
    with zipfile.ZipFile(host, "a") as archive:
        archive.writestr(f"{converter}.class", made(converter))
    assert lacks(host, brought, user) == {}
    assert lacks(host, user) == {"org.apache.kafka.connect.json.JsonConverter.added()": {"com.x.One"}}


def test_a_damaged_or_encrypted_class_is_passed_over(host: Path, tmp_path: Path) -> None:
    user, plugin = made("com/x/One", classes=("org/apache/kafka/\x1b[31mGone",)), tmp_path / "plugin.jar"
    with zipfile.ZipFile(plugin, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("com/x/One.class", user)
        for name in ("damaged", "encrypted", "compressed"):
            archive.writestr(f"com/x/{name}.class", made(f"com/x/{name}", classes=("org/apache/kafka/Gone",)))
    content = bytearray(plugin.read_bytes())
    place = content.index(b"com/x/damaged.class") + len("com/x/damaged.class")
    content[place : place + 8] = b"\xff" * 8
    for name, offset, value in ((b"com/x/encrypted.class", 8, 1), (b"com/x/compressed.class", 10, 99)):
        entry = content.rindex(name) - 46  # of the central directory
        content[entry + offset] = value
        content[content.index(name) - 30 + offset - 2] = value
    plugin.write_bytes(content)
    with JarClasses([host, plugin]) as known:
        assert missing([plugin], known) == {"org.apache.kafka.?[31mGone": {"com.x.One"}}
        assert known.get("com/x/damaged") is None
        assert known.get("com/x/encrypted") is None
        assert known.get("com/x/compressed") is None


def test_files_that_are_no_class_files_are_passed_over(host: Path, tmp_path: Path) -> None:
    whole = made("com/x/One", classes=("org/apache/kafka/Gone",))
    for content in (b"", b"text", whole[:20], whole[:4]):
        with pytest.raises(ClassFileError):
            list(ClassFile(content).classes())
    for i in range(len(whole)):  # a byte that is another one is an error or not, but no other error
        with contextlib.suppress(ClassFileError):
            changed = ClassFile(whole[:i] + b"\xff" + whole[i + 1 :])
            assert [changed.name, changed.parents, changed.members, [*changed.classes()], [*changed.references()]]
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / "a.class").write_bytes(whole)
    (plugin / "b.class").write_bytes(b"org/apache/kafka/")
    (plugin / "c.jar").write_bytes(b"no archive")
    with JarClasses([host, plugin / "c.jar"]) as known:
        assert missing(sorted(plugin.iterdir()), known) == {"org.apache.kafka.Gone": {"com.x.One"}}


def test_each_location_has_a_finding_and_is_announced(host: Path, tmp_path: Path) -> None:
    gone = tuple(f"org/apache/kafka/Gone{i}" for i in range(7))
    good, bad = jar(tmp_path / "good.jar", made("com/x/A")), jar(tmp_path / "bad.jar", made("com/x/B", classes=gone))
    said: list[str] = []
    section = judge_references([good, bad], [host], "4.3.1", said.append)
    assert section.verdict is Verdict.DIFFERS
    works, differs = section.findings
    assert works == Finding(Verdict.WORKS, str(good), "all it refers to is in Kafka 4.3.1")
    assert differs.subject == str(bad)
    assert "org.apache.kafka.Gone0 (in com.x.B); " in differs.says
    assert differs.says.endswith("; and 2 more")
    assert said == [f"Reading the classes of {good} (1 of 2)", f"Reading the classes of {bad} (2 of 2)"]


@pytest.mark.integration
def test_a_class_that_was_removed_from_a_real_kafka_is_reported(tmp_path: Path) -> None:
    removed = "org/apache/kafka/common/utils/AppInfoParser.class"
    plugin = Path(plugin_path(tmp_path / "plugins", "connect-file"), "connect-file")
    kafka = jars("connect")
    (clients,) = (each for each in kafka if each.name.startswith("kafka-clients"))
    assert judge_references([plugin], kafka, "4.3.1", str).verdict is Verdict.WORKS
    less = tmp_path / clients.name
    with zipfile.ZipFile(clients) as whole, zipfile.ZipFile(less, "w") as copy:
        for name in whole.namelist():
            if name.endswith(".class") and name != removed:
                copy.writestr(name, whole.read(name))
    (finding,) = judge_references([plugin], [less, *(set(kafka) - {clients})], "4.3.1", str).findings
    assert finding.verdict is Verdict.DIFFERS
    assert "org.apache.kafka.common.utils.AppInfoParser (in org.apache.kafka.connect.file." in finding.says


def test_classes_that_loaders_find_under_another_name_are_not_missing(tmp_path: Path) -> None:
    older, newer = (f"org/apache/kafka/common/utils/{package}LogContext" for package in ("", "internals/"))
    log = ("logger", f"(L{older};Ljava/lang/String;)V")
    kafka = jar(tmp_path / "kafka.jar", made(older, members=(log,)), made(f"{older}$Nested"))
    user = made(
        "a/B",
        classes=(newer, f"{newer}$Nested", "org/apache/kafka/common/utils/internals/Nowhere"),
        calls=(
            (newer, "logger", f"(L{newer};Ljava/lang/String;)V"),
            (newer, "none", "()V"),
        ),
    )
    with JarClasses([kafka]) as host:
        assert missing([jar(tmp_path / "plugin.jar", user)], host) == {
            "org.apache.kafka.common.utils.internals.Nowhere": {"a.B"},
            "org.apache.kafka.common.utils.LogContext.none()": {"a.B"},
        }


def test_classes_that_a_plugin_brings_keep_their_names(tmp_path: Path) -> None:
    older, newer = (f"org/apache/kafka/common/utils/{package}LogContext" for package in ("", "internals/"))
    kafka = jar(tmp_path / "kafka.jar", made(older), made(UTILS, members=(("log", f"(L{older};)V"),)))
    user = made("a/B", classes=(newer,), calls=((newer, "none", "()V"), (UTILS, "log", f"(L{newer};)V")))
    with JarClasses([kafka]) as host:
        assert missing([jar(tmp_path / "fat.jar", user, made(newer))], host) == {
            "org.apache.kafka.common.utils.Utils.log(LogContext)": {"a.B"}
        }
