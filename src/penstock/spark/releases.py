"""Facts of the minor versions of Spark on which Penstock runs: one table."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT = "4.2"
"""The version of requirements.lock, and of most tests."""
CONDITIONAL_PUT = "fs.option.create.conditional.overwrite"
"""Hadoop's name of its ability to create an object only if there is none; S3A has it from Hadoop 3.4.2 on."""
LOG_STORE = "spark.delta.logStore.s3a.impl"
"""Delta's setting of the class that writes the logs of tables in S3."""
OWN_LOG_STORE = "penstock.delta.S3LogStore"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRelease:
    """Facts of one minor version of Spark."""

    name: str
    scala: str
    """The Scala version of PyPI's build."""
    java: tuple[int, ...]
    """Java versions that it runs on, of those with long support; the oldest first."""
    python: tuple[int, int]
    """The newest Python version that it runs on."""
    kafka: str
    """The list in ``embedded/pinned`` of the jars of its Kafka source."""
    delta: str | None
    """The list in ``embedded/pinned`` of Delta's jars; None if there is no build of Delta."""
    formats: dict[str, str]
    """Coordinates on Maven Central of formats that Spark does not have itself."""
    hadoop: str
    """The version of its Hadoop, and so of Hadoop's connectors to object stores."""
    rdd: int
    """Java's ``serialVersionUID`` of its RDD, by which errors between two versions name it."""
    lacks: tuple[str, ...] = ()
    """Formats of later versions."""


_HADOOP_3_4 = (17, 21)
"""Hadoop before 3.5 fails on Java 24 and newer (`getSubject is not supported`)."""
_HADOOP_3_5 = (17, 21, 25)

RELEASES = (
    SparkRelease(
        name="3.5",
        scala="2.12",
        hadoop="3.3.4",
        java=(17,),
        python=(3, 11),
        kafka="spark-kafka-3.5",
        delta="delta-3.5",
        rdd=3_516_924_559_342_767_982,
        formats={
            "delta": "io.delta:delta-spark_2.12:3.3.3",
            "iceberg": "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
        },
        lacks=("xml",),
    ),
    SparkRelease(
        name="4.0",
        scala="2.13",
        hadoop="3.4.1",
        java=_HADOOP_3_4,
        python=(3, 13),
        kafka="spark-kafka-4.0",
        delta="delta-4.0",
        rdd=5_134_829_821_827_150_124,
        formats={
            "delta": "io.delta:delta-spark_4.0_2.13:4.4.0",
            "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
        },
    ),
    SparkRelease(
        name="4.1",
        scala="2.13",
        hadoop="3.4.2",
        java=_HADOOP_3_4,
        python=(3, 14),
        kafka="spark-kafka-4.1",
        delta="delta-4.1",
        rdd=-2_646_589_594_477_856_326,
        formats={
            "delta": "io.delta:delta-spark_4.1_2.13:4.4.0",
            "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        },
    ),
    SparkRelease(
        name="4.2",
        scala="2.13",
        hadoop="3.5.0",
        java=_HADOOP_3_5,
        python=(3, 14),
        kafka="spark-kafka-4.2",
        delta="delta-4.2",
        rdd=2_156_047_220_611_086_279,
        formats={"delta": "io.delta:delta-spark_4.2_2.13:4.4.0"},
    ),
    SparkRelease(
        name="4.3",
        scala="2.13",
        hadoop="3.5.0",
        java=_HADOOP_3_5,
        python=(3, 14),
        kafka="spark-kafka-4.2",  # the connector of 4.3.0 is not on Maven Central; that of 4.2.0 runs
        delta=None,
        rdd=-4_085_600_194_369_607_938,
        formats={},
    ),
)


def names(conjunction: str) -> str:
    """Return the supported versions as a list in a sentence."""
    *others, last = [each.name for each in RELEASES]
    return f"{', '.join(others)} {conjunction} {last}"
