"""Settings that Java's producers, consumers and admin clients know: types, importance and defaults of Kafka 4.3.1.

Validation shows them for overrides (``producer.override.*`` and so on) and for a worker's own client settings. The
documentation says what each does here, where the clients are those of librdkafka.
"""

from __future__ import annotations

from penstock.api.config import ConfigDef
from penstock.api.config_tables import define_table
from penstock.api.kafka_security import SECURITY_SETTINGS
from penstock.core.config.clients.settings import ADMIN, COMMON, CONSUMER, PRODUCER, SHARED


def _client(table: str) -> ConfigDef:
    config = define_table(define_table(ConfigDef(), table, SHARED), COMMON)
    for key in SECURITY_SETTINGS.keys.values():
        config.add(key)
    return config


PRODUCER_SETTINGS = _client(PRODUCER)
CONSUMER_SETTINGS = _client(CONSUMER)
ADMIN_SETTINGS = _client(ADMIN)
