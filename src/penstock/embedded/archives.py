"""Archives (``tar.gz``) from Maven Central, each pinned by version and checksum, and unpacked once into the cache."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock.embedded import ivy, maven
from penstock.embedded.home import EmbeddedError, folder, home, progress, writing
from penstock.embedded.jars import lock
from penstock.embedded.java import java


@dataclass(frozen=True, slots=True)
class Archive:
    sha256: str
    group: str
    artifact: str
    version: str
    classifier: str
    title: str
    """Title for messages, with an article and its size: ``a schema registry (109 MB)``."""

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}"


def unpacked(archive: Archive) -> Path:
    """The folder with the content of ``archive``; it is fetched and unpacked if missing. Raises EmbeddedError.

    Safe in several processes at once.
    """
    target = home() / "jars" / archive.name
    if not target.is_dir():
        with lock(folder(target.parent) / ".archives.lock"):
            if not target.is_dir():
                _install(archive, target)
    return target


def _install(archive: Archive, target: Path) -> None:
    repository = maven.repository()
    with writing(target.parent):
        scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=target.parent))
    try:
        with progress(f"Fetching {archive.title} from {repository}", 1) as advance:
            module = (archive.group, archive.artifact, archive.version, archive.classifier)
            output = ivy.download([module], scratch, java(), repository, advance)
        file = next(iter(sorted(scratch.glob(f"{archive.name}*.tar.gz"))), None)
        if file is None:
            raise EmbeddedError(
                f"{archive.name} could not be fetched from {repository}: {maven.reason(output)}; a network is "
                "needed once (PENSTOCK_MAVEN_REPOSITORY names another repository)."
            )
        with file.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != archive.sha256:
                raise EmbeddedError(
                    f"{repository} served {file.name} with another checksum than the pinned sha256 {archive.sha256}: "
                    "it was not kept; set PENSTOCK_MAVEN_REPOSITORY to another repository."
                )
        with writing(target.parent), tarfile.open(file) as bundle:
            if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later; the checksum says what is in it
                bundle.extraction_filter = tarfile.data_filter
            bundle.extractall(scratch / "unpacked")
            (scratch / "unpacked").replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
