"""Polls of sources of jars that take long, and ends: of tasks, JVMs and threads."""

from __future__ import annotations

import pytest

from hosts.conducted import Conducted, stored
from penstock.api.batch import Batch
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from penstock.spark.run.task_link import described
from support.kafka.client import Kafka
from support.tasks.runs import eventually

pytestmark = pytest.mark.integration


LONG = {"records": "20", "at.poll@2": "sleep 2500"}
"""Its second batch takes a while to come."""
SELDOM = {"offset.flush.interval.ms": "600000"}


def test_a_poll_that_does_not_return_is_seen_and_does_not_keep_the_task_from_ending(conducted: Conducted) -> None:
    seen: list[str] = []
    with conducted({"at.poll@1": "hang"}, {"task.shutdown.graceful.timeout.ms": "2000"}) as run:
        eventually(lambda: conducted.calls("poll"))
        # Poll after poll of the loop returns meanwhile.
        eventually(lambda: run.control.calls.report(1.0, lambda call: seen.append(described(call))) or seen)
    assert [each.partition(" since ")[0] for each in seen] == ["The task is stalled: poll has not returned"]
    assert conducted.calls("stop") == [""]


def test_a_pause_waits_for_the_poll_that_goes_on(conducted: Conducted, kafka: Kafka, topic: str) -> None:
    with conducted(LONG, SELDOM) as run:
        eventually(lambda: len(conducted.calls("poll")) == 2)
        run.control.pause()
        eventually(lambda: run.host.states == ["running", "paused"])
        assert kafka.values(topic) == [str(i).encode() for i in range(20)]
        assert len(conducted.calls("poll")) == 2
        (end,) = [i for i, line in enumerate(journal(conducted)) if line == "commit"]
        assert len([line for line in journal(conducted)[:end] if line.startswith("commitRecord ")]) == 20


def test_records_polled_after_the_request_to_stop_are_sent_before_stop(
    conducted: Conducted, kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    with conducted(LONG, {**SELDOM, "task.shutdown.graceful.timeout.ms": "60000"}, offsets_topic=offsets_topic):
        eventually(lambda: len(conducted.calls("poll")) == 2)
    assert kafka.values(topic) == [str(i).encode() for i in range(20)]
    assert stored(kafka, offsets_topic)[-1][1] == b'{"next":20}'
    assert len(conducted.calls("commitRecord")) == 20
    assert journal(conducted)[-2:] == ["commit", "stop"]


def test_a_task_commits_nothing_that_it_has_returned_and_that_is_not_sent(conducted: Conducted) -> None:
    class Early(JavaSourceTask):
        """Asks for a commit when the second batch has been returned, and not taken."""

        def __new__(cls) -> JavaSourceTask:
            task = JavaSourceTask()
            poll = task.poll

            def poll_and_commit() -> Batch | None:
                batch = poll()
                if batch is None and len(conducted.calls("poll")) == 2 and not conducted.calls("asked"):
                    eventually(lambda: task._polling is None or task._polling.done.is_set())
                    task.commit()
                    with (conducted.folder / "journal").open("a") as out:
                        out.write("asked\n")
                return batch

            task.poll = poll_and_commit  # type: ignore[method-assign]
            return task

    with conducted(LONG, SELDOM, task=Early):
        eventually(lambda: conducted.calls("asked"))
        assert conducted.calls("commit") == []
        eventually(lambda: len(conducted.calls("commitRecord")) == 20)
    assert conducted.calls("commit") == [""]


def journal(conducted: Conducted) -> list[str]:
    return (conducted.folder / "journal").read_text().splitlines()


def test_a_jvm_that_ends_is_lost_and_no_failure(conducted: Conducted) -> None:
    run = conducted({"at.poll@1": "halt 9"})
    run.join()
    assert isinstance(run.error, HostLost)
    assert (str(run.error), run.error.by_itself) == ("The JVM of the plugin exited with code 9", True)


def test_a_full_heap_is_named(conducted: Conducted) -> None:
    run = conducted({"at.poll@1": "memory"})
    run.join()
    assert isinstance(run.error, HostLost)
    expected = "The JVM of the plugin ran out of memory (penstock.java.opts sets its heap)"
    assert (str(run.error), run.error.by_itself) == (expected, True)


def test_threads_that_a_plugin_leaves_behind_end_with_the_jvm(conducted: Conducted, kafka: Kafka, topic: str) -> None:
    with conducted({"records": "1", "at.poll@1": "leak"}) as first:
        eventually(lambda: len(kafka.values(topic)) == 1)
    with conducted({"records": "1"}, connector=first.connector):
        eventually(lambda: len(kafka.values(topic)) >= 2)
    assert len(kafka.values(topic)) == 2


def test_a_thread_that_tasks_share_outlives_the_one_that_has_started_it(
    conducted: Conducted, caplog: pytest.LogCaptureFixture
) -> None:
    def lines() -> int:
        return sum(each.startswith("It serves") for each in caplog.messages)

    one_jvm = {"penstock.java.process": "worker"}
    with (
        caplog.at_level("INFO"),
        conducted({"records": "0", "at.start": "share"}, one_jvm) as first,
        conducted({"records": "0", "at.poll": "share"}, one_jvm) as second,
    ):
        eventually(lambda: len(conducted.calls("start")) == 2)
        first.stop()
        first.check()
        polls, before = len(conducted.calls("poll")), lines()
        eventually(lambda: second.error or (len(conducted.calls("poll")) > polls + 10 and lines() > before + 2))
        second.check()
