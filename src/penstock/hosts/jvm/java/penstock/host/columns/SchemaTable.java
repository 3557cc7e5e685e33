package penstock.host.columns;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import penstock.host.Session;

/**
 * The schemas of a session by number. Each side gives numbers to the schemas that it sends, and describes a schema when
 * it first sends its number. After {@code MAX_NUMBERS} of them it begins a new generation of numbers, and says so: the other
 * side then forgets those of the generation before the last one. A schema that comes back is the same object as before,
 * unless it is long ago.
 */
public final class SchemaTable {
    private static final int MAX_NUMBERS = 10_000;
    private static final String RECURSIVE = "recursive"; // the type, in its description, of one that stands for another

    private final Map<Schema, Integer> numbers = new HashMap<>();
    private final Map<Schema, Integer> numbersOfObjects = new IdentityHashMap<>();
    private final List<Object> described = new ArrayList<>();
    private int last = 0;
    private final Map<Integer, Schema> received = new HashMap<>();
    private int since = 0; // the first number of the other side's current generation
    private final Map<Schema, Schema> objects = new HashMap<>();

    public static SchemaTable of(Session session) {
        return session.state(SchemaTable.class, SchemaTable::new);
    }

    public synchronized int number(Schema schema) {
        Integer known = numbersOfObjects.get(schema);
        if (known != null) {
            return known;
        }
        boolean own = schema instanceof ConnectSchema || schema instanceof RecursiveSchema;
        Schema plain = own ? schema : schema.schema();
        Integer number = numbers.get(plain);
        if (number == null) {
            Map<String, Object> description = description(plain);
            number = ++last;
            numbers.put(plain, number);
            described.add(List.of(number, description));
            object(plain);
        }
        if (numbersOfObjects.size() >= MAX_NUMBERS) {
            numbersOfObjects.clear();
        }
        numbersOfObjects.put(schema, number);
        return number;
    }

    /** The schema of a number that was received; null for 0. */
    public synchronized Schema get(int number) {
        return number == 0 ? null : received.get(number);
    }

    /** Return the schemas that the other side does not know yet, to be sent with the next message that names numbers. */
    public synchronized List<Object> takeDescriptions() {
        List<Object> taken = new ArrayList<>(described);
        described.clear();
        if (numbers.size() >= MAX_NUMBERS) {
            numbers.clear();
            numbersOfObjects.clear();
            described.add(Arrays.asList(last + 1, null));
        }
        return taken;
    }

    public synchronized void learn(JsonNode descriptions) throws IOException {
        for (JsonNode each : descriptions) {
            int number = each.get(0).asInt();
            if (each.get(1).isNull()) {
                received.keySet().removeIf(known -> known < since);
                since = number;
            } else {
                received.put(number, object(schema(each.get(1))));
            }
        }
    }

    /** One object for all equal schemas. */
    private Schema object(Schema schema) {
        if (objects.size() > 4 * MAX_NUMBERS) {
            objects.clear();
        }
        Schema known = objects.putIfAbsent(schema, schema);
        return known == null ? schema : known;
    }

    private Map<String, Object> description(Schema schema) {
        return description(schema, new ArrayList<>());
    }

    /**
     * {@code around}: the schemas that this one is in, the outermost first. A schema of the same parts as one of them is
     * described by the number of schemas between them, since it has no end: a plugin's own class, if not ours.
     */
    private Map<String, Object> description(Schema schema, List<Schema> around) {
        Map<String, Object> description = new LinkedHashMap<>();
        for (int above = 0; above < around.size(); above++) {
            Schema target = around.get(around.size() - 1 - above);
            if (RecursiveSchema.sameParts(schema, target)) {
                return recursive(schema, target, "above", above);
            }
        }
        if (schema instanceof RecursiveSchema) {
            Schema target = ((RecursiveSchema) schema).target();
            return recursive(schema, target, "of", description(target, around));
        }
        around.add(schema);
        try {
            return described(schema, around, description);
        } finally {
            around.remove(around.size() - 1);
        }
    }

    private static Map<String, Object> recursive(Schema schema, Schema target, String key, Object value) {
        Map<String, Object> description = new LinkedHashMap<>();
        description.put("type", RECURSIVE);
        description.put("optional", schema.isOptional());
        if (schema.parameters() != null && !schema.parameters().equals(target.parameters())) {
            description.put("parameters", schema.parameters());
        }
        description.put(key, value);
        return description;
    }

    private Map<String, Object> described(Schema schema, List<Schema> around, Map<String, Object> description) {
        description.put("type", schema.type().getName());
        if (schema.isOptional()) {
            description.put("optional", true);
        }
        if (schema.name() != null) {
            description.put("name", schema.name());
        }
        if (schema.version() != null) {
            description.put("version", schema.version());
        }
        if (schema.doc() != null) {
            description.put("doc", schema.doc());
        }
        if (schema.parameters() != null) {
            description.put("parameters", schema.parameters());
        }
        if (schema.defaultValue() != null) {
            Out out = new Out();
            new ColumnWriter(out, this).column(new Object[] {schema.defaultValue()});
            ByteBuffer bytes = out.done();
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            description.put("default", copy);
        }
        switch (schema.type()) {
            case STRUCT -> {
                List<Object> fields = new ArrayList<>();
                for (Field field : schema.fields()) {
                    fields.add(List.of(field.name(), description(field.schema(), around)));
                }
                description.put("fields", fields);
            }
            case MAP -> {
                description.put("keys", description(schema.keySchema(), around));
                description.put("values", description(schema.valueSchema(), around));
            }
            case ARRAY -> description.put("values", description(schema.valueSchema(), around));
            default -> { }
        }
        return description;
    }

    private Schema schema(JsonNode node) throws IOException {
        return schema(node, new ArrayList<>());
    }

    /** {@code around}: for each schema that this one is in, the outermost first, those that stand for it. */
    private Schema schema(JsonNode node, List<List<RecursiveSchema>> around) throws IOException {
        if (RECURSIVE.equals(node.get("type").asText())) {
            RecursiveSchema found = new RecursiveSchema(node.path("optional").asBoolean(false), parameters(node));
            if (node.has("of")) {
                found.close(schema(node.get("of"), around));
            } else {
                around.get(around.size() - 1 - node.get("above").asInt()).add(found);
            }
            return found;
        }
        List<RecursiveSchema> own = new ArrayList<>();
        around.add(own);
        Schema found = plain(node, around);
        around.remove(around.size() - 1);
        own.forEach(each -> each.close(found));
        return found;
    }

    private static Map<String, String> parameters(JsonNode node) {
        if (!node.has("parameters")) {
            return null;
        }
        Map<String, String> found = new LinkedHashMap<>();
        node.get("parameters").fields().forEachRemaining(each -> found.put(each.getKey(), each.getValue().asText()));
        return found;
    }

    private Schema plain(JsonNode node, List<List<RecursiveSchema>> around) throws IOException {
        Schema.Type type = Schema.Type.valueOf(node.get("type").asText().toUpperCase(java.util.Locale.ROOT));
        List<Field> fields = null;
        if (type == Schema.Type.STRUCT) {
            fields = new ArrayList<>();
            for (JsonNode each : node.path("fields")) {
                fields.add(new Field(each.get(0).asText(), fields.size(), schema(each.get(1), around)));
            }
        }
        Object defaultValue = null;
        if (node.has("default")) {
            ByteBuffer bytes = ByteBuffer.wrap(node.get("default").binaryValue()).order(ByteOrder.LITTLE_ENDIAN);
            defaultValue = new ColumnReader(bytes, this).column()[0];
        }
        return new ConnectSchema(
            type,
            node.path("optional").asBoolean(false),
            defaultValue,
            node.hasNonNull("name") ? node.get("name").asText() : null,
            node.hasNonNull("version") ? node.get("version").asInt() : null,
            node.hasNonNull("doc") ? node.get("doc").asText() : null,
            parameters(node),
            fields,
            node.has("keys") ? schema(node.get("keys"), around) : null,
            node.has("values") ? schema(node.get("values"), around) : null);
    }
}
