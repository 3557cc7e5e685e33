package penstock.tests.calls;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Text as UTF-8. */
public final class ProbeConverter implements Converter {
    private CallLog calls;

    @Override
    public ConfigDef config() {
        return Settings.OF_OTHERS;
    }

    @Override
    public void configure(Map<String, ?> configs, boolean isKey) {
        calls = new CallLog(configs, "converter", this);
        calls.note("configure", configs.size());
    }

    @Override
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        calls.note("from_connect", 1);
        return String.valueOf(value).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public SchemaAndValue toConnectData(String topic, byte[] value) {
        calls.note("to_connect", 1);
        return new SchemaAndValue(Schema.STRING_SCHEMA, new String(value, StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
        if (calls != null) {
            calls.note("close", 0);
        }
    }
}
