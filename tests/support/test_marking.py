from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import marking
from support.kafka.client import Kafka
from support.marking import FAST, is_left_out, starts_browser, starts_java


def test_an_unmarked_test_that_starts_a_jvm_fails(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    subprocess.run([java, "-version"], check=True)
    marking.end()
    marking._running[:] = ["this test"]
    subprocess.run([java, "Main"], check=True)
    with pytest.raises(pytest.fail.Exception, match=r"this test starts a JVM .* has to be marked `integration`"):
        marking.end()


def test_an_unmarked_test_that_starts_a_browser_fails(tmp_path: Path) -> None:
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)
    marking._running[:] = ["this test"]
    subprocess.run([browser, "--headless"], check=True)
    with pytest.raises(pytest.fail.Exception, match=r"this test starts a browser .* has to be marked `slow`"):
        marking.end()


def test_a_test_that_uses_a_broker_is_marked(request: pytest.FixtureRequest, kafka: Kafka) -> None:
    assert request.node.get_closest_marker("integration")


@pytest.mark.parametrize(
    ("command", "starts"),
    [
        (["/usr/bin/java", "-cp", "a.jar", "Main"], True),
        (["/bin/sh", "-c", '"$@"', "sh", "/opt/jdk/bin/java", "Main"], True),
        (["/usr/bin/java", "-XshowSettings:properties", "-version"], False),
        (["/usr/bin/java", "-Xmx256m", "-jar", "/jars/ivy-2.5.3.jar", "-retrieve", "a"], False),
        (["python3", "-m", "java.numbers"], False),
    ],
)
def test_commands_that_start_a_jvm(command: list[str], starts: bool) -> None:
    assert starts_java(command) is starts


@pytest.mark.parametrize(
    ("command", "starts"),
    [
        (["/usr/bin/chromium", "--headless"], True),
        (["/site-packages/playwright/driver/node", "cli.js", "run-driver"], True),
        (["python3", "-m", "chromium.numbers"], False),
    ],
)
def test_commands_that_start_a_browser(command: list[str], starts: bool) -> None:
    assert starts_browser(command) is starts


@pytest.mark.parametrize(
    ("text", "expression", "left_out"),
    [
        ("pytestmark = pytest.mark.integration\n", FAST, True),
        ("import a\npytestmark = [pytest.mark.security, pytest.mark.slow]\n", FAST, True),
        ("pytestmark = pytest.mark.integration\n", "not soak", False),
        ("pytestmark = pytest.mark.security\n", FAST, False),
        ("@pytest.mark.integration\ndef test_a(): ...\ndef test_b(): ...\n", FAST, False),
        ("class A:\n    pytestmark = pytest.mark.slow\n", FAST, False),
    ],
)
def test_files_without_a_test_that_is_selected_are_not_imported(
    tmp_path: Path, text: str, expression: str, left_out: bool
) -> None:
    (tmp_path / "test_a.py").write_text(text)
    assert is_left_out(tmp_path / "test_a.py", expression) is left_out


def test_the_expression_is_that_of_make_fast() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert f'-m "{FAST}"' in makefile.partition("\nfast: ")[2].partition("\n\n")[0]
