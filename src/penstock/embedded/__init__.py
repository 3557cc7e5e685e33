"""Parts of Penstock that are not Python: a Java, jars, and a Kafka broker for demo, tests and development."""

from penstock.embedded.broker import Broker
from penstock.embedded.home import EmbeddedError, home
from penstock.embedded.jars import jars

__all__ = ["Broker", "EmbeddedError", "home", "jars"]
