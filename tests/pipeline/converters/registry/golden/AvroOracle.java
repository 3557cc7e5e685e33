import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.generic.GenericContainer;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;

/** Answers one case per line of standard input with what AvroData does; see README.md beside it. Needs Oracle.java. */
public class AvroOracle {
    public static void main(String[] args) throws Exception {
        Oracle.SCHEMAS.configure(Map.of("schemas.enable", "true"), false);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode both = Oracle.NODES.objectNode();
            JsonNode given = Oracle.MAPPER.readTree(line);
            both.set("case", given);
            Map<String, String> config = new HashMap<>();
            given.path("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().asText()));
            AvroData data = new AvroData(new AvroDataConfig(config));
            try {
                both.set("answer", given.get("op").asText().equals("from") ? from(data, given) : to(data, given));
            } catch (Throwable e) {
                ArrayNode chain = both.putArray("error");
                for (Throwable t = e; t != null; t = t.getCause())
                    chain.addArray().add(t.getClass().getName()).add(t.getMessage());
            }
            out.println(Oracle.MAPPER.writer().with(com.fasterxml.jackson.core.json.JsonWriteFeature.ESCAPE_NON_ASCII).writeValueAsString(both));
        }
        out.flush();
    }

    /** The Avro schema of a Connect schema and, of each value, its bytes and what is read from them. */
    static JsonNode from(AvroData data, JsonNode given) throws Exception {
        Schema schema = given.hasNonNull("schema") ? Oracle.SCHEMAS.asConnectSchema(given.get("schema")) : null;
        org.apache.avro.Schema avro = data.fromConnectSchema(schema);
        ObjectNode answer = Oracle.NODES.objectNode().put("avro", avro.toString());
        ArrayNode values = answer.putArray("values");
        for (JsonNode value : given.get("values")) {
            try {
                Object datum = data.fromConnectData(schema, Oracle.read(schema, value));
                if (datum != null && !(datum instanceof org.apache.avro.generic.IndexedRecord))
                    datum = unwrapped(datum);
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
                new GenericDatumWriter<>(avro).write(datum, encoder);
                encoder.flush();
                values.add(Base64.getEncoder().encodeToString(bytes.toByteArray()));
            } catch (Exception e) {
                values.addObject().put("error", e.getClass().getName()).put("message", e.getMessage());
            }
        }
        return answer;
    }

    /** AvroData wraps what is no record into a container that has a getter for it. */
    static Object unwrapped(Object datum) throws Exception {
        try {
            return datum.getClass().getMethod("getValue").invoke(datum);
        } catch (NoSuchMethodException e) {
            return datum;
        }
    }

    static JsonNode to(AvroData data, JsonNode given) throws Exception {
        org.apache.avro.Schema avro = new org.apache.avro.Schema.Parser().parse(given.get("avro").asText());
        Integer version = given.hasNonNull("version") ? given.get("version").asInt() : null;
        ArrayNode answers = Oracle.NODES.arrayNode();
        for (JsonNode value : given.get("values")) {
            byte[] bytes = Base64.getDecoder().decode(value.asText());
            Object datum = new GenericDatumReader<>(avro).read(null, DecoderFactory.get().binaryDecoder(bytes, null));
            SchemaAndValue found = data.toConnectData(avro, datum, version);
            ObjectNode both = answers.addObject();
            both.set("schema", show(found.schema()));
            both.set("value", Oracle.show(found.schema(), found.value()));
        }
        return answers;
    }

    /** A schema and all that it says; defaults are in the notation of values. */
    static JsonNode show(Schema schema) {
        if (schema == null)
            return Oracle.NODES.nullNode();
        ObjectNode node = Oracle.NODES.objectNode().put("type", schema.type().getName()).put("optional", schema.isOptional());
        if (schema.name() != null)
            node.put("name", schema.name());
        if (schema.version() != null)
            node.put("version", schema.version());
        if (schema.doc() != null)
            node.put("doc", schema.doc());
        if (schema.defaultValue() != null)
            node.set("default", Oracle.show(schema, schema.defaultValue()));
        if (schema.parameters() != null && !schema.parameters().isEmpty())
            schema.parameters().forEach(node.putObject("parameters")::put);
        if (schema.type() == Schema.Type.MAP)
            node.set("keys", show(schema.keySchema()));
        if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY)
            node.set("values", show(schema.valueSchema()));
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            schema.fields().forEach(field -> fields.addArray().add(field.name()).add(show(field.schema())));
        }
        return node;
    }
}
