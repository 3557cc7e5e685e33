"""Check of a Kafka cluster with the settings of one client: names, connections, TLS, login, brokers, topics, rights.

Nothing is created: metadata is asked for all topics at once, so that no broker creates one.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient

from penstock.api.check import Address, CheckStep, KafkaTarget, Outcome, listed
from penstock.api.errors import ConnectError
from penstock.core.config.internal_topics import InternalTopics
from penstock.java.regex import compile_regex, full_match
from penstock.kafka.admin import code_of, may_pass, sentence
from penstock.kafka.client_settings import unmatched_topics
from penstock.kafka.clients import admin_settings, new_admin
from penstock.kafka.librdkafka_config import address
from penstock.kafka.topic_guard import TopicGuard
from penstock.pipeline.trace import headline

CONNECT_S, REQUEST_S, AGAIN_S = 5.0, 10.0, 0.2
MAX_ADDRESSES = 20
_OF_TLS = (KafkaError._SSL,)
_OF_LOGIN = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)


def reach(address: Address) -> list[CheckStep]:
    """Return the steps of one address: its name is resolved, and it accepts a connection."""
    return _Addresses([(address.host, address.port)]).steps(address.part)


@dataclass(slots=True)
class _Addresses:
    """Addresses of which one must be reachable."""

    wanted: list[tuple[str, int]]

    def steps(self, part: str) -> list[CheckStep]:
        known: list[tuple[str, int]] = []
        unknown, closed = list[str](), list[str]()
        for host, port in self.wanted[:MAX_ADDRESSES]:
            try:
                socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                unknown.append(f"{host}: {_reason(error)}")
            else:
                known.append((host, port))
        if not known:
            return [CheckStep(part, "dns", "failed", f"No address is known for {listed(unknown)}")]
        also = f"; none is known for {listed(unknown)}" if unknown else ""
        dns = CheckStep(part, "dns", "ok", f"{listed([host for host, _ in known])} resolved{also}")
        open_ones = []
        for host, port in known:
            try:
                socket.create_connection((host, port), CONNECT_S).close()
            except OSError as error:
                closed.append(f"{host}:{port}: {_reason(error)}")
            else:
                open_ones.append(f"{host}:{port}")
        if not open_ones:
            return [dns, CheckStep(part, "tcp", "failed", f"No connection is accepted: {listed(closed)}")]
        also = f"; not so {listed(closed)}" if closed else ""
        return [dns, CheckStep(part, "tcp", "ok", f"{listed(open_ones)} accept connections{also}")]


def check_cluster(target: KafkaTarget, internal: InternalTopics) -> Iterator[CheckStep]:
    """Yield the steps of a cluster, up to one without which the next make no sense."""
    part, settings = target.part, dict(target.settings)
    given = [address(each).rpartition(":") for each in settings.get("bootstrap.servers", "").split(",") if each.strip()]
    wanted = [(host.strip("[]"), int(port)) for host, _, port in given if port.isdecimal()]
    if not wanted:
        yield CheckStep(part, "dns", "failed", "bootstrap.servers names no host:port")
        return
    reached = _Addresses(wanted).steps(part)
    yield from reached
    if reached[-1].outcome == "failed":
        return
    errors: list[KafkaError] = []
    try:
        admin = new_admin(admin_settings(settings), error_cb=errors.append)
    except Exception as error:
        yield CheckStep(part, "login", "failed", headline(error.__cause__ or error))
        return
    try:
        metadata = _metadata(admin, errors)
    except KafkaException as error:
        yield _not_met(part, errors, error)
        return
    protocol = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol.endswith("SSL"):
        yield CheckStep(part, "tls", "ok", "The certificate of the brokers is trusted")
    how = f"by {settings.get('sasl.mechanism', 'GSSAPI')}" if protocol.startswith("SASL") else "without SASL"
    yield CheckStep(part, "login", "ok", f"Logged in {how} at cluster {metadata.cluster_id}")
    brokers = _Addresses([(each.host, each.port) for each in metadata.brokers.values()])
    advertised = brokers.steps(part)[-1]
    yield CheckStep(part, "brokers", advertised.outcome, f"Advertised addresses: {advertised.message}")
    try:
        guard = TopicGuard(internal, settings["bootstrap.servers"], lambda: metadata.cluster_id)
        guard.check_read(target.reads)
        guard.check_written(target.writes)
    except ConnectError as error:
        yield CheckStep(part, "topics", "failed", str(error))
        return
    there = {name for name, topic in metadata.topics.items() if topic.error is None}
    yield from _topics(target, there, unmatched_topics(settings))
    yield from _rights(admin, target, there)


def _metadata(admin: AdminClient, errors: list[KafkaError]) -> Any:
    """Ask until there is an answer, or an error that does not pass. Raises KafkaException."""
    given_up = time.monotonic() + REQUEST_S
    while True:
        try:
            return admin.list_topics(timeout=1.0)
        except KafkaException:
            admin.poll(0)
            lasting = any(each.code() in (*_OF_TLS, *_OF_LOGIN) for each in errors)
            if lasting or time.monotonic() > given_up:
                raise


def _not_met(part: str, errors: list[KafkaError], error: KafkaException) -> CheckStep:
    for codes, step in ((_OF_LOGIN, "login"), (_OF_TLS, "tls")):
        for each in errors:
            if each.code() in codes:
                return CheckStep(part, step, "failed", each.str())
    said = [each.str() for each in errors if each.code() != KafkaError._ALL_BROKERS_DOWN]
    why = said[-1] if said else sentence(error)
    text = f"The brokers do not answer: {why}. Does security.protocol fit that of their listener?"
    return CheckStep(part, "login", "failed", text)


def _topics(target: KafkaTarget, there: set[str], excluded: Iterable[str]) -> Iterator[CheckStep]:
    part = target.part
    if missing := sorted(set(target.reads) - there):
        text = f"{listed(missing)} do not exist, or may not be described with this login"
        yield CheckStep(part, "topics", "failed", text)
    elif target.reads:
        yield CheckStep(part, "topics", "ok", f"{listed(sorted(target.reads))} exist")
    if target.pattern:
        pattern = compile_regex(target.pattern)
        matched = sorted(name for name in there.difference(excluded) if full_match(pattern, name))
        text = f"{listed(matched)} match {target.pattern}" if matched else f"No topic matches {target.pattern}"
        yield CheckStep(part, "topics", "ok" if matched else "failed", text)
    if new := sorted(set(target.writes) - there):
        yield CheckStep(
            part, "topics", "not checked", f"{listed(new)} do not exist yet; whether they can be created is open"
        )
    elif target.writes:
        yield CheckStep(part, "topics", "ok", f"{listed(sorted(target.writes))} exist")


def _rights(admin: AdminClient, target: KafkaTarget, there: set[str]) -> Iterator[CheckStep]:
    """Yield what the brokers say that the login may do. All of it is allowed where they authorize nobody."""
    lacking: list[str] = []
    unknown: list[str] = []
    wanted = [(name, AclOperation.READ, "READ") for name in target.reads if name in there]
    wanted += [(name, AclOperation.WRITE, "WRITE") for name in target.writes if name in there]
    for name, operation, word in wanted:
        try:
            allowed = _allowed(partial(_of_topic, admin, name))
        except (KafkaException, TimeoutError) as error:
            unknown.append(f"topic {name}: {sentence(error)}")
            continue
        if allowed is None:
            unknown.append(f"topic {name}: the brokers do not say")
        elif operation not in allowed:
            lacking.append(f"{word} topic {name}")
    if (group := target.group) is not None:
        try:
            allowed = _allowed(partial(_of_group, admin, group))
        except (KafkaException, TimeoutError) as error:
            code = code_of(error)
            if code == KafkaError.GROUP_AUTHORIZATION_FAILED:
                lacking.append(f"DESCRIBE group {group}")
            elif code != KafkaError.GROUP_ID_NOT_FOUND:  # brokers say of no new group what may be done with it
                unknown.append(f"group {group}: {sentence(error)}")
        else:
            if allowed is not None and AclOperation.READ not in allowed:
                lacking.append(f"READ group {group}")
    if not wanted and group is None:
        return
    outcome: Outcome = "failed" if lacking else "not checked" if unknown else "ok"
    text = "The login may read and write what is needed"
    text = f"The login may not {listed(lacking)}" if lacking else listed(unknown) if unknown else text
    yield CheckStep(target.part, "privileges", outcome, text)


def _of_topic(admin: AdminClient, name: str) -> Future[Any]:
    given = TopicCollection([name])
    return admin.describe_topics(given, include_authorized_operations=True, request_timeout=REQUEST_S)[name]


def _of_group(admin: AdminClient, group: str) -> Future[Any]:
    return admin.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=REQUEST_S)[group]


def _allowed(ask: Callable[[], Future[Any]]) -> Collection[AclOperation] | None:
    """Return the operations that are allowed, asking again while an error may pass; None if the brokers do not say.

    Raises KafkaException, TimeoutError.
    """
    given_up = time.monotonic() + REQUEST_S
    while True:
        try:
            found: Collection[AclOperation] | None = ask().result(REQUEST_S).authorized_operations
            return found
        except KafkaException as error:
            if not may_pass(error.args[0]) or time.monotonic() > given_up:
                raise
            time.sleep(AGAIN_S)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
