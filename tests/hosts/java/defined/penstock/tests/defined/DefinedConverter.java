package penstock.tests.defined;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/** A converter that makes nothing of everything, and its variants. */
public class DefinedConverter implements Converter, HeaderConverter, Versioned {
    private final Settings.Variant variant;

    public DefinedConverter() {
        this(Settings.Variant.ALL);
    }

    DefinedConverter(Settings.Variant variant) {
        this.variant = variant;
    }

    @Override
    public ConfigDef config() {
        return variant.config();
    }

    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public void configure(Map<String, ?> configs, boolean isKey) {
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        return null;
    }

    @Override
    public SchemaAndValue toConnectData(String topic, byte[] value) {
        return SchemaAndValue.NULL;
    }

    @Override
    public byte[] fromConnectHeader(String topic, String header, Schema schema, Object value) {
        return null;
    }

    @Override
    public SchemaAndValue toConnectHeader(String topic, String header, byte[] value) {
        return SchemaAndValue.NULL;
    }

    @Override
    public void close() {
    }

    public static final class Ghost extends DefinedConverter {
        public Ghost() {
            super(Settings.Variant.GHOST);
        }
    }

    public static final class Null extends DefinedConverter {
        public Null() {
            super(Settings.Variant.NULL);
        }
    }

    public static final class Throwing extends DefinedConverter {
        public Throwing() {
            super(Settings.Variant.THROWING);
        }
    }

    public static final class Failing extends DefinedConverter {
        public Failing() {
            super(Settings.Variant.FAILING);
        }
    }

    public static final class OfConfig extends DefinedConverter {
        public OfConfig() {
            super(Settings.Variant.CONFIG);
        }
    }
}
