package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.ConverterType;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;
import penstock.host.Host;
import penstock.host.Json;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;
import penstock.host.SessionMetrics;
import penstock.host.columns.ColumnWriter;
import penstock.host.columns.Conversions;
import penstock.host.columns.DirectJsonConverter;
import penstock.host.columns.Out;
import penstock.host.columns.SchemaTable;
import penstock.host.plugins.PluginObjects;

/** Transforms, predicates and converters of a session by number, applied to batches. */
public final class Steps {
    private static final Object DROPPED = new Object();

    /** One plugin, and what it did before it failed: no record passes it twice because another one has failed. */
    private static final class Step implements AutoCloseable {
        final Object plugin;
        final Map<ConnectRecord<?>, Object> done = new IdentityHashMap<>();
        AutoCloseable metrics = () -> { };

        Step(Object plugin) {
            this.plugin = plugin;
        }

        @Override
        public void close() throws Exception {
            metrics.close();
            if (plugin instanceof AutoCloseable) {
                try (LoaderSwap swap = Host.plugins().withClassLoader(plugin.getClass().getClassLoader())) {
                    ((AutoCloseable) plugin).close();
                }
            }
        }
    }

    /** The operation of a step on one record. */
    @FunctionalInterface
    private interface Operation {
        Object on(ConnectRecord<?> record) throws Exception;
    }

    private final Map<Integer, Step> steps = new ConcurrentHashMap<>();

    private static Steps of(Session session) {
        return session.state(Steps.class, Steps::new);
    }

    public static void register(Map<String, Method> methods) {
        methods.put("step.create", (session, args, payload) -> of(session).create(session, args));
        methods.put("step.metrics", (session, args, payload) -> of(session).tellMetrics(session, args));
        methods.put("step.close", (session, args, payload) -> of(session).close(args));
        methods.put("step.apply", (session, args, payload) -> of(session).apply(session, args, payload));
        methods.put("step.test", (session, args, payload) -> of(session).test(session, args, payload));
        methods.put("step.from", (session, args, payload) -> of(session).from(session, args, payload));
        methods.put("step.bytes", (session, args, payload) -> RecordBytes.of(session, args, payload));
        methods.put("step.to", (session, args, payload) -> of(session).to(session, args, payload));
    }

    /** The plugin of a step. */
    static Object plugin(Session session, int number) {
        Object plugin = of(session).steps.get(number).plugin;
        if (plugin == null) {
            throw new IllegalStateException("The plugin is closed");
        }
        return plugin;
    }

    private Reply create(Session session, JsonNode args) throws Exception {
        String kind = args.get("kind").asText();
        Object plugin = PluginObjects.make(args.get("plugin"));
        if (plugin.getClass() == JsonConverter.class) {
            plugin = new DirectJsonConverter();
        }
        Map<String, String> config = Json.texts(args.get("config"));
        synchronized (this) {
            int number = steps.size() + 1;
            steps.put(number, new Step(plugin));
            session.onClose(() -> close(number));
            try (LoaderSwap swap = Host.plugins().withClassLoader(plugin.getClass().getClassLoader())) {
                switch (kind) {
                    case "transformation" -> ((Transformation<?>) plugin).configure(config);
                    case "predicate" -> ((Predicate<?>) plugin).configure(config);
                    case "converter" -> ((Converter) plugin).configure(config, args.path("is_key").asBoolean());
                    case "header_converter" -> {
                        config.put("converter.type", ConverterType.HEADER.getName());
                        ((HeaderConverter) plugin).configure(config);
                    }
                    default -> throw new IllegalArgumentException(kind);
                }
            }
            return Reply.of(number);
        }
    }

    private Reply tellMetrics(Session session, JsonNode args) throws Exception {
        Step step = step(args, "step");
        if (step.plugin instanceof Monitorable plugin) {
            try (LoaderSwap swap = Host.plugins().withClassLoader(plugin.getClass().getClassLoader())) {
                step.metrics = SessionMetrics.tell(session, plugin, Json.texts(args.get("tags")));
            }
        }
        return Reply.NONE;
    }

    private Reply close(JsonNode args) throws Exception {
        close(args.get("step").asInt());
        return Reply.NONE;
    }

    private void close(int number) throws Exception {
        Step step = steps.remove(number);
        if (step != null) {
            steps.put(number, new Step(null));
            step.close();
        }
    }

    private Step step(JsonNode args, String name) {
        return steps.get(args.get(name).asInt());
    }

    /** Apply a transform; with a predicate, to the records for which it is true (or false). */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private Reply apply(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        Batches batches = Batches.of(session);
        Batches.Input input = batches.input(args, payload);
        Step step = step(args, "step");
        Transformation transform = (Transformation) step.plugin;
        Operation operation = record -> transform.apply(record);
        if (args.hasNonNull("predicate")) {
            Predicate predicate = (Predicate) plugin(session, args.get("predicate").asInt());
            ClassLoader loader = predicate.getClass().getClassLoader();
            boolean negate = args.path("negate").asBoolean();
            // Asked about each record just before the transform, and not again if that fails for another one.
            operation = record -> {
                boolean hit;
                try (LoaderSwap swap = Host.plugins().withClassLoader(loader)) {
                    hit = predicate.test(record);
                }
                return hit != negate ? transform.apply(record) : record;
            };
        }
        Object[] after = each(step, input, operation);
        ConnectRecord<?>[] records = new ConnectRecord<?>[after.length];
        System.arraycopy(after, 0, records, 0, after.length);
        return batches.outcome(input.records(), records);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Reply test(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        Step step = step(args, "step");
        Object[] found = each(step, Batches.of(session).input(args, payload), record ->
            ((Predicate) step.plugin).test(record));
        byte[] hits = new byte[found.length];
        for (int i = 0; i < hits.length; i++) {
            hits[i] = (byte) ((Boolean) found[i] ? 1 : 0);
        }
        return Reply.of(null, hits);
    }

    /** Convert keys, values or headers to bytes. */
    private Reply from(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        Step step = step(args, "step");
        Batches batches = Batches.of(session);
        Batches.Input input = batches.input(args, payload);
        Out out = new Out();
        ColumnWriter writer = new ColumnWriter(out, SchemaTable.of(session));
        Conversions conversions = new Conversions(args.get("part").asText(), step.plugin);
        Object[] found = each(step, input, conversions::from);
        boolean headers = conversions.write(found, writer);
        return Reply.of(Map.of("headers", headers), out.done());
    }

    /** Convert keys, values or headers of records whose own are bytes. */
    private Reply to(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        Step step = step(args, "step");
        Batches batches = Batches.of(session);
        Batches.Input input = batches.input(args, payload);
        Conversions conversions = new Conversions(args.get("part").asText(), step.plugin);
        Object[] after = each(step, input, conversions::to);
        ConnectRecord<?>[] records = new ConnectRecord<?>[after.length];
        System.arraycopy(after, 0, records, 0, after.length);
        return batches.outcome(input.records(), records);
    }

    /**
     * The results of an operation on each record. If it fails for one, the results for those before it are kept: the
     * caller finds the record that fails by smaller batches, and in none of them a record is processed again.
     */
    private static Object[] each(Step step, Batches.Input input, Operation operation) throws Exception {
        if (step.plugin == null) {
            throw new IllegalStateException("The plugin is closed");
        }
        ConnectRecord<?>[] records = input.records();
        Object[] results = new Object[records.length];
        if (!input.kept() || (records.length > 0 && !step.done.containsKey(records[0]))) {
            step.done.clear();
        }
        try (LoaderSwap swap = Host.plugins().withClassLoader(step.plugin.getClass().getClassLoader())) {
            for (int i = 0; i < records.length; i++) {
                Object known = step.done.isEmpty() ? null : step.done.get(records[i]);
                if (known instanceof Throwable) {
                    if (records.length == 1) {
                        step.done.remove(records[i]);
                    }
                    throw sneaky((Throwable) known);
                }
                try {
                    results[i] = known == null ? operation.on(records[i]) : known == DROPPED ? null : known;
                } catch (Throwable e) {
                    if (input.kept()) {
                        for (int j = 0; j < i; j++) {
                            step.done.put(records[j], results[j] == null ? DROPPED : results[j]);
                        }
                        if (records.length > 1) {
                            step.done.put(records[i], e);
                        }
                    }
                    throw e;
                }
            }
        }
        return results;
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException sneaky(Throwable error) throws T {
        throw (T) error;
    }
}
