package penstock.tests.defined;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** A transform that changes nothing, and its variants. */
public class DefinedTransform<R extends ConnectRecord<R>> implements Transformation<R>, Versioned {
    private final Settings.Variant variant;

    public DefinedTransform() {
        this(Settings.Variant.ALL);
    }

    DefinedTransform(Settings.Variant variant) {
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
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public R apply(R each) {
        return each;
    }

    @Override
    public void close() {
    }

    public static final class Ghost<R extends ConnectRecord<R>> extends DefinedTransform<R> {
        public Ghost() {
            super(Settings.Variant.GHOST);
        }
    }

    public static final class Null<R extends ConnectRecord<R>> extends DefinedTransform<R> {
        public Null() {
            super(Settings.Variant.NULL);
        }
    }

    public static final class Throwing<R extends ConnectRecord<R>> extends DefinedTransform<R> {
        public Throwing() {
            super(Settings.Variant.THROWING);
        }
    }

    public static final class Failing<R extends ConnectRecord<R>> extends DefinedTransform<R> {
        public Failing() {
            super(Settings.Variant.FAILING);
        }
    }

    public static final class OfConfig<R extends ConnectRecord<R>> extends DefinedTransform<R> {
        public OfConfig() {
            super(Settings.Variant.CONFIG);
        }
    }
}
