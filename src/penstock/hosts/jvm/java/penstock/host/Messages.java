package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The messages of the protocol with Penstock, each with its fields; {@code hosts/jvm/messages/} describes them, and a
 * test compares both. A message or a field that is missing here is an error that names it.
 */
public final class Messages {
    /** Requests to this JVM, and objects in them. */
    static final Map<String, Set<String>> RECEIVED = table("""
        open: name thread only connector task
        host.about:
        host.levels: levels
        metrics:
        connector.create: plugin
        connector.validate: config
        connector.start: name config
        connector.stop:
        connector.taskConfigs: max_tasks
        connector.exactlyOnceSupport: config
        connector.transactionBoundaries: config
        connector.alterOffsets: config offsets
        definition.validate: plugin prefix config
        provider.create: plugin config
        provider.get: path keys
        policy.create: plugin config
        policy.validate: client overrides connector connector_class kind
        batch.put: input free
        batch.columns: input parts free
        batch.offsets: input free
        batch.concat: parts free
        step.create: kind plugin config is_key
        step.metrics: step tags
        step.close: step
        step.apply: step input free predicate negate
        step.test: step input free
        step.from: step input free part
        step.to: step input free part
        step.bytes: steps input free
        source.create: task
        source.start: config transactions
        source.poll: free
        source.commit: taken
        source.commitRecords: input free sent topics partitions offsets timestamps
        source.stop:
        sink.create: task name number config reporter
        sink.start:
        sink.open: partitions
        sink.close: partitions
        sink.put: free input convert behind
        sink.commit: offsets
        sink.stop:
        kept: batch rows set schemas
        sent: kind n set read schemas source_partitions source_offsets source_partition_rows
        """);

    /** Requests and notices from this JVM. */
    static final Map<String, Set<String>> SENT = table("""
        log: lines dropped
        connector.reconfigure:
        connector.raise: error
        offsets: partitions
        sink.group:
        sink.committed: partitions
        sink.position: partition
        sink.ends: partitions last
        sink.described: topic
        sink.report: error record place timestamp_type
        sink.report_original: error place timestamp timestamp_type key value headers
        """);

    /** Replies that are objects, by request. */
    static final Map<String, Set<String>> REPLIES = table("""
        open: pid
        host.about: pid java sessions used max uptime
        connector.taskConfigs: configs task_class
        provider.get: data ttl
        batch.put: batch n absent topics partitions timestamps dropped
        batch.columns: schemas
        batch.concat: batch
        step.apply: batch n absent topics partitions timestamps dropped
        step.from: headers
        step.to: batch n absent topics partitions timestamps dropped
        source.create: commit commit_record
        source.poll: batch source_partitions source_partition_rows last last_offsets ends commit abort
        sink.start: rewinds timeout commit flow failure
        sink.open: rewinds timeout commit flow failure
        sink.close: rewinds timeout commit flow failure
        sink.put: type rewinds timeout commit flow failure clear converting putting records
        sink.commit: rewinds timeout commit flow failure returned
        sink.stop: rewinds timeout commit flow failure
        """);

    private Messages() {}

    /** Lines of a name, a colon and the names of fields. */
    private static Map<String, Set<String>> table(String text) {
        Map<String, Set<String>> table = new LinkedHashMap<>();
        for (String line : text.strip().split("\n")) {
            String[] parts = line.split(":", 2);
            String fields = parts[1].strip();
            table.put(parts[0], fields.isEmpty() ? Set.of() : Set.copyOf(List.of(fields.split(" "))));
        }
        return table;
    }

    /** The name of a received message or object. Throws for one that is unknown, or has an unknown field. */
    public static String type(JsonNode message) {
        String type = message.path("type").asText();
        Set<String> fields = RECEIVED.get(type);
        if (fields == null) {
            throw new IllegalArgumentException("There is no message " + type);
        }
        for (Iterator<String> names = message.fieldNames(); names.hasNext();) {
            String name = names.next();
            if (!name.equals("type") && !fields.contains(name)) {
                throw new IllegalArgumentException("Message " + type + " has no field " + name);
            }
        }
        return type;
    }

    /** A message to send. Throws for one that is unknown, or has an unknown field. */
    static Map<String, Object> message(String type, Map<String, ?> fields) {
        Set<String> known = SENT.get(type);
        if (known == null || !known.containsAll(fields.keySet())) {
            throw new IllegalArgumentException("There is no message " + type + " with fields " + fields.keySet());
        }
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("type", type);
        message.putAll(fields);
        return message;
    }

    /** The result of a request. Throws if it has an unknown field. */
    static Object reply(String type, Object result) {
        Set<String> known = REPLIES.get(type);
        if (known != null && result instanceof Map<?, ?> fields && !known.containsAll(fields.keySet())) {
            throw new IllegalArgumentException("The reply to " + type + " has no fields " + fields.keySet());
        }
        return result;
    }
}
