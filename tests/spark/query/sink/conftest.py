"""One Spark with jars of the user's for all sinks that need some: those of Delta, and a JDBC driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.embedded.home import home
from penstock.embedded.jars import Jar, ensure
from penstock.spark.versions import release
from support.jars import require
from support.spark import delta
from support.spark.host import Hosted

DRIVER = Jar(
    "157963d60ae66d607e09466e8c0cdf8087e9cb20d0159899ffca96bca2528460", "org.postgresql", "postgresql", "42.7.7"
)


@pytest.fixture(scope="session")
def spark() -> Iterator[Hosted]:
    if release().delta is None:
        pytest.skip("Delta has no build for this Spark")
    require(delta.JARS)
    settings = delta.spark_settings()
    settings["spark.jars"] += "".join(f",{jar}" for jar in ensure([DRIVER], home() / "jars"))
    # Delta writes a checkpoint of its log after this number of commits; by default ten.
    settings["spark.databricks.delta.properties.defaults.checkpointInterval"] = "3"
    with delta.started_with(**settings) as hosted:
        yield hosted
