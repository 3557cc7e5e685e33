"""SparkSink while S3 is slow, cuts connections, refuses credentials, or could not hold what it is to write."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.core.model.tasks import TaskRunning
from penstock.spark.releases import LOG_STORE
from penstock.spark.settings import HostSettings
from penstock.spark.versions import release
from support.jars import require
from support.kafka.client import Kafka
from support.s3 import JARS, S3, Answer, Request, serving
from support.spark import delta
from support.spark.host import Hosted, started
from support.spark.queries import ids, make
from support.spark.s3 import S3Sink, spark_settings
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

OTHER = "shop"
"""A bucket with credentials of its own."""
IN_ONE_PROCESS = "io.delta.storage.S3SingleDriverLogStore"


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with serving() as one:
        one.files.create_dir(OTHER)
        yield one


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    yield server
    server.answer = lambda _: None


@pytest.fixture(scope="module")
def spark(server: S3) -> Iterator[Hosted]:
    require(JARS)
    if release().delta is not None:
        require(delta.JARS)
    own = {f"fs.s3a.bucket.{OTHER}.access.key": "shopkeeper", f"fs.s3a.bucket.{OTHER}.secret.key": "canary-shop"}
    few = {"fs.s3a.attempts.maximum": "2", "fs.s3a.retry.limit": "2"}
    settings = {**spark_settings(server, **own, **few), LOG_STORE: IN_ONE_PROCESS}
    with started(HostSettings(spark=settings)) as hosted:
        yield hosted


def is_data(one: S3Sink, request: Request) -> bool:
    return request.is_upload and one.place in request.path and ".parquet" in request.path


@pytest.mark.parametrize("answer", [Answer(503, "SlowDown"), Answer(), Answer(passed=True)])
def test_uploads_that_are_slowed_down_or_cut_lose_and_double_nothing(
    spark: Hosted, kafka: Kafka, s3: S3, answer: Answer
) -> None:
    """The first uploads of files and of lists fail more often than Hadoop tries, so that batches are written again."""
    with S3Sink(spark, kafka, s3, batch_max_records="10", errors_retry_timeout="-1") as one:
        left = {"data": 8, "list": 8}

        def fail(request: Request) -> Answer | None:
            kind = "data" if is_data(one, request) else "list" if request.path.endswith(".list") else ""
            if not left.get(kind) or not request.is_upload:
                return None
            left[kind] -= 1
            return answer

        s3.answer = fail
        one.produce(*make(0, 30))
        one.start()
        assert ids(one.wait(30)) == list(range(30))
        one.written(30)
        assert left == {"data": 0, "list": 0}


EXPIRED = Answer(400, "ExpiredToken")


def test_expired_credentials_are_in_the_status_until_there_are_others(spark: Hosted, kafka: Kafka, s3: S3) -> None:
    with S3Sink(spark, kafka, s3, errors_retry_timeout="-1") as one:
        s3.answer = lambda request: EXPIRED if one.place in request.path else None
        one.produce(*make(0, 5))
        one.start()

        def shown() -> bool:
            event = one.until(TaskRunning)[-1]
            assert isinstance(event, TaskRunning)
            return "ExpiredToken" in (event.degraded_reason or "") and "Retrying" in (event.degraded_reason or "")

        eventually(shown)
        s3.answer = lambda _: None
        assert ids(one.wait(5)) == list(range(5))


def test_expired_credentials_fail_a_task_that_does_not_retry(spark: Hosted, kafka: Kafka, s3: S3) -> None:
    with S3Sink(spark, kafka, s3) as one:
        s3.answer = lambda request: EXPIRED if one.place in request.path else None
        one.produce(*make(0, 5))
        one.start()
        trace = one.failure()
        assert "ExpiredToken" in trace
        assert "canary" not in trace


def test_each_bucket_has_credentials_of_its_own(spark: Hosted, kafka: Kafka, s3: S3) -> None:
    def users(bucket: str) -> set[str]:
        found = [request.headers["authorization"] for request in s3.requests if request.path.startswith(f"/{bucket}")]
        return {each.partition("Credential=")[2].partition("/")[0] for each in found}

    with S3Sink(spark, kafka, s3) as one, S3Sink(spark, kafka, s3, path=f"s3a://{OTHER}/t") as other:
        for each in (one, other):
            each.produce(*make(0, 5))
            each.start()
        for each in (one, other):
            each.written(5)
    assert users(s3.bucket) == {"penstock"}
    assert users(OTHER) == {"shopkeeper"}


def test_a_delta_table_whose_log_is_safe_in_one_process_only_is_refused(spark: Hosted, kafka: Kafka, s3: S3) -> None:
    if release().delta is None:
        pytest.skip("Delta has no build for this Spark")
    with S3Sink(spark, kafka, s3, "delta") as one:
        assert f"{LOG_STORE}={IN_ONE_PROCESS} lets two processes write the same version" in one.refusal()
