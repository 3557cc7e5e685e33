from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.api.errors import ConnectError
from penstock.kafka.client_settings import transactional_producer
from penstock.kafka.clients import init_transactions, new_producer
from penstock.kafka.fencing import fence, fence_task, transactional_id
from support.kafka.client import Kafka
from support.waiting import answer

pytestmark = pytest.mark.integration


def test_producers_of_old_tasks_can_commit_no_more(kafka: Kafka):
    topic = kafka.create_topic()
    worker, connector = {"bootstrap.servers": kafka.bootstrap, "group.id": topic}, {"name": "c"}
    zombies = []
    for task in range(2):
        id = transactional_id(topic, "c", task)
        zombie = new_producer(transactional_producer(worker, connector, "zombie", id))
        init_transactions(zombie, 120)
        zombie.begin_transaction()
        zombie.produce(topic, b"zombie")
        zombie.flush()
        zombies.append(zombie)
    answer(lambda done: fence(worker, connector, 2, done))
    for zombie in zombies:
        with pytest.raises(KafkaException) as caught:
            zombie.commit_transaction(120)
        assert caught.value.args[0].code() == KafkaError._FENCED
    assert kafka.values(topic) == []


def test_an_open_transaction_of_a_task_ends_with_its_fencing(kafka: Kafka):
    topic = kafka.create_topic()
    worker, connector = {"bootstrap.servers": kafka.bootstrap, "group.id": topic}, {"name": "c"}
    killed = new_producer(transactional_producer(worker, connector, "killed", transactional_id(topic, "c", 0)))
    init_transactions(killed, 120)
    killed.begin_transaction()
    killed.produce(topic, b"half")
    killed.flush()
    fence_task(worker, connector, 0)
    kafka.produce(topic, [b"whole"])
    # An open transaction would hide what comes after it.
    assert kafka.values(topic) == [b"whole"]


def test_nothing_to_fence(kafka: Kafka):
    worker = {"bootstrap.servers": kafka.bootstrap, "group.id": "g"}
    assert answer(lambda done: fence(worker, {"name": "c"}, 0, done)) is None


def test_no_task_is_fenced_when_the_time_for_it_is_over():
    worker = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}
    with pytest.raises(ConnectError, match="There was no time left for task c-0 to be fenced"):
        answer(lambda done: fence(worker, {"name": "c"}, 1, done, timeout=0))


def test_brokers_that_do_not_answer_make_it_fail():
    worker = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}
    with pytest.raises(ConnectError, match="The producer of task c-0 could not be fenced"):
        answer(lambda done: fence(worker, {"name": "c"}, 1, done, timeout=1))
