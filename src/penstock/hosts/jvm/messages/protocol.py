"""Messages between Penstock and a JVM that hosts Java plugins.

A session is one connection: the worker or the process of a task opens it, and the JVM serves it. Both sides send
requests (``penstock.wire.calls``); a request names the type of its reply. Columns of records travel in the payload
beside a message; ``hosts.jvm.codec`` is their format. ``Messages.java`` lists the same messages and fields, and
``tests/hosts/test_messages.py`` compares both.

To the JVM (``ToJvm``):

- from the worker or a task, to the session: ``OpenSession``, ``DescribeJvm``, ``SetJavaLogLevels``,
  ``ReadJavaMetrics``;
- from the worker, to a connector: ``CreateJavaConnector``, ``ValidateJavaConnector``, ``StartJavaConnector``,
  ``StopJavaConnector``, ``MakeJavaTaskConfigs``, ``AskExactlyOnceSupport``, ``AskTransactionBoundaries``,
  ``AlterJavaOffsets``;
- from the worker, to definitions of settings, a config provider or an override policy: ``ValidateByDefinition``,
  ``CreateJavaProvider``, ``ReadProvidedConfig``, ``CreateJavaPolicy``, ``ValidateByPolicy``;
- from a task, to its batches: ``KeepBatch``, ``FetchColumns``, ``FetchOffsets``, ``ConcatBatches``;
- from a task, to its transforms, predicates and converters: ``CreateStep``, ``GiveStepMetrics``, ``CloseStep``,
  ``ApplyStep``, ``AskPredicate``, ``ConvertFromConnect``, ``ConvertToConnect``, ``ConvertToBytes``;
- from a source task, to the plugin's: ``CreateJavaSourceTask``, ``StartJavaSourceTask``, ``PollJavaTask``,
  ``CommitJavaTask``, ``CommitJavaRecords``, ``StopJavaSourceTask``;
- from a sink task, to the plugin's: ``CreateJavaSinkTask``, ``StartJavaSinkTask``, ``OpenJavaPartitions``,
  ``CloseJavaPartitions``, ``PutJavaRecords``, ``PreCommitJavaTask``, ``StopJavaSinkTask``.

From the JVM (``FromJvm``):

- from any plugin, to the session: ``JavaLogLines``;
- from a connector, to the worker (``ConnectorMessage``): ``RequestReconfiguration``, ``RaiseConnectorError``,
  ``ReadSourceOffsets``; the last one also from a source task, to Penstock's;
- from a sink task, to Penstock's (``SinkMessage``): ``DescribeGroupMember``, ``ReadCommittedOffsets``,
  ``ReadPosition``, ``ReadEndOffsets``, ``DescribeTopic``, ``ReportRecord``, ``ReportOriginalRecord``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.hosts.jvm.messages.base import JavaFailure
from penstock.hosts.jvm.messages.batches import (
    ApplyStep,
    AskPredicate,
    CloseStep,
    ConcatBatches,
    ConvertFromConnect,
    ConvertToBytes,
    ConvertToConnect,
    CreateStep,
    FetchColumns,
    FetchOffsets,
    GiveStepMetrics,
    KeepBatch,
)
from penstock.hosts.jvm.messages.from_jvm import FromJvm
from penstock.hosts.jvm.messages.tasks import (
    CloseJavaPartitions,
    CommitJavaRecords,
    CommitJavaTask,
    CreateJavaSinkTask,
    CreateJavaSourceTask,
    OpenJavaPartitions,
    PollJavaTask,
    PreCommitJavaTask,
    PutJavaRecords,
    StartJavaSinkTask,
    StartJavaSourceTask,
    StopJavaSinkTask,
    StopJavaSourceTask,
)
from penstock.hosts.jvm.messages.worker import (
    AlterJavaOffsets,
    AskExactlyOnceSupport,
    AskTransactionBoundaries,
    CreateJavaConnector,
    CreateJavaPolicy,
    CreateJavaProvider,
    DescribeJvm,
    MakeJavaTaskConfigs,
    OpenSession,
    ReadJavaMetrics,
    ReadProvidedConfig,
    SetJavaLogLevels,
    StartJavaConnector,
    StopJavaConnector,
    ValidateByDefinition,
    ValidateByPolicy,
    ValidateJavaConnector,
)
from penstock.wire.messages import Message, MessageCodec

ToJvm = (
    OpenSession
    | DescribeJvm
    | SetJavaLogLevels
    | ReadJavaMetrics
    | CreateJavaConnector
    | ValidateJavaConnector
    | StartJavaConnector
    | StopJavaConnector
    | MakeJavaTaskConfigs
    | AskExactlyOnceSupport
    | AskTransactionBoundaries
    | AlterJavaOffsets
    | ValidateByDefinition
    | CreateJavaProvider
    | ReadProvidedConfig
    | CreateJavaPolicy
    | ValidateByPolicy
    | KeepBatch
    | FetchColumns
    | FetchOffsets
    | ConcatBatches
    | CreateStep
    | GiveStepMetrics
    | CloseStep
    | ApplyStep
    | AskPredicate
    | ConvertFromConnect
    | ConvertToConnect
    | ConvertToBytes
    | CreateJavaSourceTask
    | StartJavaSourceTask
    | PollJavaTask
    | CommitJavaTask
    | CommitJavaRecords
    | StopJavaSourceTask
    | CreateJavaSinkTask
    | StartJavaSinkTask
    | OpenJavaPartitions
    | CloseJavaPartitions
    | PutJavaRecords
    | PreCommitJavaTask
    | StopJavaSinkTask
)


# -- envelopes; see ``penstock.wire.calls``


class CallToJvm(Message, tag="call", frozen=True):
    """A request for the thread ``lane`` of the session."""

    message: Any
    number: int | None
    lane: str


class ReplyToJvm(Message, tag="reply", frozen=True):
    """The result of a request from the JVM."""

    number: int
    result: Any


class FailureToJvm(Message, tag="failure", frozen=True):
    """The error of a request from the JVM, which a plugin gets as a ConnectException."""

    number: int
    error: str


class CallFromJvm(Message, tag="call", frozen=True):
    """A message of ``FromJvm``; ``during``: the number of the request in which the plugin makes it."""

    message: msgspec.Raw
    number: int | None = None
    during: int | None = None


class ReplyFromJvm(Message, tag="reply", frozen=True):
    """The result of a request to the JVM, of the type that the request names."""

    number: int
    result: msgspec.Raw


class FailureFromJvm(Message, tag="failure", frozen=True):
    """The exception of a request to the JVM."""

    number: int
    error: JavaFailure


EnvelopeFromJvm = CallFromJvm | ReplyFromJvm | FailureFromJvm

ENVELOPES_TO_JVM = MessageCodec[Any]("the JVM host", CallToJvm | ReplyToJvm | FailureToJvm)
ENVELOPES_FROM_JVM = MessageCodec[EnvelopeFromJvm]("the JVM host", EnvelopeFromJvm, replace_surrogates=True)
FROM_JVM = MessageCodec[FromJvm]("the JVM host", FromJvm)
