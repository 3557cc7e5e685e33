package penstock.tests.defined;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** A predicate that is true, and its variants. */
public class DefinedPredicate<R extends ConnectRecord<R>> implements Predicate<R>, Versioned {
    private final Settings.Variant variant;

    public DefinedPredicate() {
        this(Settings.Variant.ALL);
    }

    DefinedPredicate(Settings.Variant variant) {
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
    public boolean test(R each) {
        return true;
    }

    @Override
    public void close() {
    }

    public static final class Ghost<R extends ConnectRecord<R>> extends DefinedPredicate<R> {
        public Ghost() {
            super(Settings.Variant.GHOST);
        }
    }

    public static final class Null<R extends ConnectRecord<R>> extends DefinedPredicate<R> {
        public Null() {
            super(Settings.Variant.NULL);
        }
    }

    public static final class Throwing<R extends ConnectRecord<R>> extends DefinedPredicate<R> {
        public Throwing() {
            super(Settings.Variant.THROWING);
        }
    }

    public static final class Failing<R extends ConnectRecord<R>> extends DefinedPredicate<R> {
        public Failing() {
            super(Settings.Variant.FAILING);
        }
    }

    public static final class OfConfig<R extends ConnectRecord<R>> extends DefinedPredicate<R> {
        public OfConfig() {
            super(Settings.Variant.CONFIG);
        }
    }
}
