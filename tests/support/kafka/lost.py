"""Reports of a client that has lost its brokers, as librdkafka 2.16 sends them; shortened."""

from __future__ import annotations

from collections.abc import Callable

from penstock.kafka.statistics import LOST_REPORTS, ClientStatistics

PRODUCER = (
    '{ "name": "rdkafka#producer-26", "client_id": "rdkafka", "type": "producer", "ts":78226616454, "time":1795979255, '
    '"age":6017527, "replyq":0, "msg_cnt":30, "msg_size":30, "msg_max":100000, "msg_size_max":1073741824, '
    '"simple_cnt":0, "metadata_cache_cnt":30, "brokers":{ }, "topics":{ } }'
)
CONSUMER = (
    '{ "name": "rdkafka#consumer-1", "client_id": "rdkafka", "type": "consumer", "brokers":{ "GroupCoordinator": { '
    '"name":"GroupCoordinator", "nodeid":-1, "nodename":"", "source":"logical", "state":"INIT" } }, "topics":{ } }'
)


def lose(statistics: ClientStatistics, text: str = PRODUCER) -> None:
    """Report as often as it takes that there is no broker."""
    for _ in range(LOST_REPORTS):
        statistics(text)


def reporting_no_broker(
    condition: Callable[[], bool], statistics: ClientStatistics, text: str = PRODUCER
) -> Callable[[], bool]:
    """Return the condition, before which no broker is reported each time: the client's own reports come in between."""

    def met() -> bool:
        lose(statistics, text)
        return condition()

    return met
