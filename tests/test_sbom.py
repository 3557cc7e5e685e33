"""The bill of materials of ``make dist``: valid CycloneDX, with all that an installation has and fetches."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.embedded.jars import pinned
from penstock.embedded.registry import ARCHIVE
from penstock.hosts.jvm.build import ECJ
from penstock.spark.versions import release

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.security


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("sbom") / "penstock.cdx.json"
    subprocess.run([sys.executable, "scripts/sbom.py", file], cwd=ROOT, check=True)
    return json.loads(file.read_text())


def component(document: Any, beginning: str) -> Any:
    [found] = [each for each in document["components"] if each["purl"].startswith(beginning)]
    return found


def test_it_is_valid_by_the_schema_of_cyclonedx(document: Any) -> None:
    """All but the syntax of addresses, whose grammars tests don't load; see ``conftest.py``."""
    pytest.importorskip("cyclonedx")
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document)) is None
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps({**document, "x": 1})) is not None


def test_addresses_are_urls(document: Any) -> None:
    references = [each for found in document["components"] for each in found.get("externalReferences", ())]
    urls = [each["url"] for each in references]
    assert urls
    assert [
        url for url in urls if not re.fullmatch(r"https://[\w.-]+(/[\w.~!$&'()*+,;=:@%/-]*)?(\#[\w-]+)?", url, re.ASCII)
    ] == []


def test_it_has_the_packages_of_the_lock_with_their_hashes(document: Any) -> None:
    lines = [
        line for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line and line[0].isalnum()
    ]
    names = {line.split("==")[0] for line in lines}
    found = {each["name"] for each in document["components"] if each["purl"].startswith("pkg:pypi/")}
    assert found == names
    orjson = component(document, "pkg:pypi/orjson@")
    assert orjson["scope"] == "required"
    assert all(len(each["content"]) == 64 for each in orjson["externalReferences"][0]["hashes"])
    assert component(document, "pkg:pypi/pytest@")["scope"] == "optional"
    assert component(document, "pkg:pypi/py4j@")["scope"] == "required", "which pyspark needs"


def test_it_has_the_java_artefacts_that_are_fetched_with_their_hashes(document: Any) -> None:
    for jar in (*pinned("kafka"), *pinned(release().kafka), ECJ):
        found = component(document, f"pkg:maven/{jar.group}/{jar.artifact}@{jar.version}?type=jar")
        assert found["hashes"] == [{"alg": "SHA-256", "content": jar.sha256}]
    archive = component(document, f"pkg:maven/{ARCHIVE.group}/{ARCHIVE.artifact}@{ARCHIVE.version}")
    assert archive["hashes"][0]["content"] == ARCHIVE.sha256


def test_references_are_unique_and_lead_somewhere(document: Any) -> None:
    refs = [each["bom-ref"] for each in document["components"]] + [document["metadata"]["component"]["bom-ref"]]
    assert len(refs) == len(set(refs))
    for each in document["dependencies"]:
        assert {each["ref"], *each["dependsOn"]} <= set(refs)
    own = next(each for each in document["dependencies"] if each["ref"] == refs[-1])
    assert any(each.startswith("pkg:pypi/pyspark@") for each in own["dependsOn"])


def test_equal_inputs_make_an_equal_file(document: Any, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "scripts/sbom.py", tmp_path / "again.json"], cwd=ROOT, check=True)
    assert json.loads((tmp_path / "again.json").read_text()) == document
    assert document["serialNumber"].startswith("urn:uuid:")
