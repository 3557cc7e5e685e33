package penstock.tests.chain;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.transforms.Transformation;
import org.slf4j.LoggerFactory;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Marks a record with a text: in a header {@code mark}, in a field {@code mark} of a struct, at the end of a string.
 * Values that contain {@code drop} are dropped, {@code bad} is refused, {@code again} once; at {@code gone} a class is
 * missing.
 */
public final class Mark<R extends ConnectRecord<R>> implements Transformation<R>, Versioned, Monitorable {
    private String text = "";
    private String topic;
    private Object again;
    private long marked;

    @Override
    public String version() {
        return "7.8";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define("text", Type.STRING, "marked", Importance.HIGH, "What to mark records with.")
            .define("topic", Type.STRING, null, Importance.LOW, "Where to send them.")
            .define("says.later", Type.STRING, null, Importance.LOW, "What a thread of its own logs.");
    }

    @Override
    public void configure(Map<String, ?> configs) {
        text = configs.containsKey("text") ? String.valueOf(configs.get("text")) : "marked";
        topic = (String) configs.get("topic");
        if (configs.get("says.later") != null) {
            Thread thread = new Thread(() -> LoggerFactory.getLogger(Mark.class).info((String) configs.get("says.later")));
            thread.setDaemon(true);
            thread.start();
        }
    }

    @Override
    public void withPluginMetrics(PluginMetrics metrics) {
        MetricName name = metrics.metricName("marked-total", "Records that it has marked", new LinkedHashMap<>(Map.of("text", text)));
        metrics.addMetric(name, (Measurable) (config, now) -> marked);
    }

    @Override
    public R apply(R each) {
        String shown = String.valueOf(each.value());
        if (shown.contains("drop")) {
            return null;
        }
        if (shown.matches("(?s).*\\bbad\\b.*")) { // the word alone: hash codes of objects may contain it
            throw new DataException("A bad value: " + shown);
        }
        if (shown.contains("gone")) {
            throw new NoClassDefFoundError("some/missing/Class");
        }
        if (shown.contains("again") && !each.value().equals(again)) {
            again = each.value();
            throw new RetriableException("Once more: " + shown);
        }
        Schema schema = each.valueSchema();
        Object value = each.value();
        if (value instanceof Struct struct) {
            schema = marked(struct.schema());
            value = marked(struct, schema);
        } else if (value instanceof String string) {
            value = string + " " + text;
        }
        R made = each.newRecord(topic == null ? each.topic() : topic, each.kafkaPartition(), each.keySchema(), each.key(),
            schema, value, each.timestamp(), each.headers());
        made.headers().addString("mark", text);
        marked += 1;
        return made;
    }

    private static Schema marked(Schema schema) {
        SchemaBuilder made = SchemaBuilder.struct().name(schema.name()).version(schema.version()).doc(schema.doc());
        if (schema.parameters() != null) {
            made.parameters(schema.parameters());
        }
        if (schema.isOptional()) {
            made.optional();
        }
        for (Field field : schema.fields()) {
            made.field(field.name(), field.schema());
        }
        return made.field("mark", SchemaBuilder.string().optional().doc("who was here").build()).build();
    }

    private Struct marked(Struct struct, Schema schema) {
        Struct made = new Struct(schema);
        for (Field field : struct.schema().fields()) {
            made.put(field.name(), struct.getWithoutDefault(field.name()));
        }
        return made.put("mark", text);
    }

    @Override
    public void close() {
    }
}
