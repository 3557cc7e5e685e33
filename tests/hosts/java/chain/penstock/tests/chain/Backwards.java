package penstock.tests.chain;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A converter of strings that writes them backwards, and a header that says so; it refuses other values. */
public final class Backwards implements Converter, HeaderConverter {
    private String prefix = "";
    private boolean key;

    @Override
    public String version() {
        return "7.8";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("prefix", Type.STRING, "", Importance.LOW, "What is written before them.");
    }

    @Override
    public void configure(Map<String, ?> configs, boolean isKey) {
        prefix = configs.containsKey("prefix") ? String.valueOf(configs.get("prefix")) : "";
        key = isKey;
    }

    @Override
    public void configure(Map<String, ?> configs) {
        configure(configs, false);
    }

    @Override
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        if (value == null) {
            return null;
        }
        if (!(value instanceof String string)) {
            throw new DataException("Backwards writes strings, not " + value.getClass().getName());
        }
        return (prefix + new StringBuilder(string).reverse()).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] fromConnectData(String topic, Headers headers, Schema schema, Object value) {
        headers.add(key ? "key-was" : "value-was", "backwards".getBytes(StandardCharsets.UTF_8));
        return fromConnectData(topic, schema, value);
    }

    @Override
    public SchemaAndValue toConnectData(String topic, byte[] value) {
        if (value == null) {
            return SchemaAndValue.NULL;
        }
        String text = new String(value, StandardCharsets.UTF_8);
        if (!text.startsWith(prefix)) {
            throw new DataException("It does not begin with " + prefix + ": " + text);
        }
        String string = new StringBuilder(text.substring(prefix.length())).reverse().toString();
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, string);
    }

    @Override
    public byte[] fromConnectHeader(String topic, String headerKey, Schema schema, Object value) {
        return fromConnectData(topic, schema, value);
    }

    @Override
    public SchemaAndValue toConnectHeader(String topic, String headerKey, byte[] value) {
        return toConnectData(topic, value);
    }

    @Override
    public void close() {
    }
}
