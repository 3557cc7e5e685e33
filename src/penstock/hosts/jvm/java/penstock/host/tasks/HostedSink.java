package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.runtime.HostedSinkTask;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.WorkerSinkTaskContext;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import penstock.host.Failures;
import penstock.host.Host;
import penstock.host.Json;
import penstock.host.Reply;
import penstock.host.Session;
import penstock.host.SessionMetrics;

/** A sink task. The reply of each call has what the task has asked of its context meanwhile. */
final class HostedSink {
    private static final Logger log = LoggerFactory.getLogger(HostedSink.class);
    private static final List<Object> NO_ROWS = List.of();

    private final Map<String, String> config;
    private final ClassLoader loader;
    private final SinkTask task;
    private final GroupMember member;
    private final WorkerSinkTaskContext context;
    private final StopOnce stop = new StopOnce();
    /** Held by each call of the task: at the end of the session another thread calls its {@code stop}. */
    private final Object calling = new Object();
    private boolean clear;
    private boolean opened;

    /**
     * {@code args}: the message {@code sink.create}.
     */
    HostedSink(Session session, JsonNode args) throws Exception {
        config = Json.texts(args.get("config"));
        task = (SinkTask) TaskObjects.create(args.get("task"));
        loader = task.getClass().getClassLoader();
        member = new GroupMember(session);
        ConnectorTaskId id = new ConnectorTaskId(args.get("name").asText(), args.get("number").asInt());
        SinkReporter reporter = args.get("reporter").asBoolean() ? new SinkReporter(session) : null;
        context = HostedSinkTask.context(id, config, member.consumer(), reporter, SessionMetrics.ofTask(session));
    }

    Reply start(Session session) {
        session.onClose(this::end);
        return call(() -> {
            task.initialize(context);
            task.start(config);
            return null;
        });
    }

    Reply open(Collection<TopicPartition> partitions) {
        member.assign(partitions);
        opened = true;
        return call(() -> {
            task.open(partitions);
            return null;
        });
    }

    Reply close(Collection<TopicPartition> partitions) {
        try {
            return call(() -> {
                task.close(partitions);
                return null;
            });
        } finally {
            member.revoke(partitions);
            context.pausedPartitions().removeAll(partitions);
        }
    }

    /** The task may keep the records. */
    Map<String, Object> put(ConnectRecord<?>[] batch) {
        List<SinkRecord> records = new ArrayList<>(batch.length);
        for (ConnectRecord<?> each : batch) {
            records.add(each instanceof InternalSinkRecord known ? known : Originals.attached((SinkRecord) each));
        }
        clear = false;
        Map<String, Object> reply = called(() -> {
            task.put(records);
            return null;
        });
        clear = !reply.containsKey("failure") && asksNothing(reply);
        reply.put("clear", clear);
        return reply;
    }

    /** The records of a put have yet to be converted, which may fail. */
    void notPut() {
        clear = false;
    }

    /** Return whether the task has taken the records of the last put and asked for nothing, as the put's reply says. */
    boolean isClear() {
        return clear;
    }

    Reply preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        return call(() -> Partitions.rows(task.preCommit(new HashMap<>(offsets))));
    }

    Reply stop() throws Exception {
        Reply stopped = stop.call(() -> call(() -> {
            task.stop();
            return null;
        }));
        return stopped == null ? Reply.NONE : stopped;
    }

    /** Stop a task whose process has ended without doing so, once a call that still runs has returned. */
    private void end() throws Exception {
        stop.call(() -> {
            synchronized (calling) {
                try (LoaderSwap swap = Host.plugins().withClassLoader(loader)) {
                    task.stop();
                }
            }
            return null;
        });
    }

    private Reply call(Callable<Object> method) {
        return Reply.of(called(method));
    }

    private Map<String, Object> called(Callable<Object> method) {
        Map<String, Object> reply = new LinkedHashMap<>();
        try (LoaderSwap swap = Host.plugins().withClassLoader(loader)) {
            Object returned;
            synchronized (calling) {
                returned = method.call();
            }
            if (returned != null) {
                reply.put("returned", returned);
            }
        } catch (Throwable e) {
            reply.put("failure", Failures.document(e));
        }
        asked(reply);
        return reply;
    }

    /** Add what the task asks for: where to read from, how long to wait, a commit, pauses. */
    private void asked(Map<String, Object> reply) {
        List<Object> rows = new ArrayList<>();
        try {
            rewinds().forEach((partition, offset) ->
                rows.add(Arrays.asList(partition.topic(), partition.partition(), offset)));
        } catch (IllegalArgumentException | IllegalStateException e) {
            reply.put("failure", Failures.document(e));
        }
        reply.put("rewinds", rows);
        reply.put("timeout", context.timeout() < 0 ? null : context.timeout());
        context.timeout(-1L);
        reply.put("commit", context.isCommitRequested());
        context.clearCommitRequest();
        reply.put("flow", member.takeFlow());
    }

    /** Throws for what Java Connect's consumer would not seek. Before the first {@code open} nothing is assigned yet. */
    private Map<TopicPartition, Long> rewinds() {
        Map<TopicPartition, Long> early = new HashMap<>();
        context.offsets().forEach((partition, offset) -> {
            if (offset == null) {
                log.warn("Can't rewind {} to an offset that is null", partition);
            } else if (opened) {
                member.seek(partition, offset);
            } else {
                early.put(partition, offset);
            }
        });
        context.clearOffsets();
        Map<TopicPartition, Long> found = member.takeSeeks();
        found.putAll(early);
        return found;
    }

    private static boolean asksNothing(Map<String, Object> reply) {
        return NO_ROWS.equals(reply.get("rewinds")) && NO_ROWS.equals(reply.get("flow"))
            && reply.get("timeout") == null && Boolean.FALSE.equals(reply.get("commit"));
    }
}
