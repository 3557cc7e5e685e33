package penstock.tests.defined;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source without tasks; what its {@code validate} does beside Connect's own, {@code validate} says. */
public class DefinedSource extends SourceConnector {
    private final Settings.Variant variant;

    public DefinedSource() {
        this(Settings.Variant.ALL);
    }

    DefinedSource(Settings.Variant variant) {
        this.variant = variant;
    }

    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public ConfigDef config() {
        return variant.config();
    }

    @Override
    public Config validate(Map<String, String> props) {
        switch (props.getOrDefault("validate", "")) {
            case "null":
                return null;
            case "null values":
                return new Config(null);
            case "nothing":
                return new Config(List.of());
            case "throw":
                throw new IllegalStateException("not validated on purpose");
            case "config":
                throw new ConfigException("own.mode", props.get("own.mode"), "not validated");
            default:
        }
        List<ConfigValue> values = new ArrayList<>(super.validate(props).configValues());
        switch (props.getOrDefault("validate", "")) {
            case "adds":
                for (ConfigValue value : values) {
                    if (value.name().equals("own.colour") || value.name().equals("own.list")) {
                        value.addErrorMessage(value.name() + " does not suit " + value.value());
                    }
                }
                break;
            case "unknown":
                values.add(new ConfigValue("own.extra", "more", List.of("less"), List.of("nobody knows it")));
                break;
            case "of connect":
                values.add(new ConfigValue("tasks.max", 7, List.of(8), List.of("too many")));
                break;
            case "twice":
                values.add(new ConfigValue("own.int", 9, List.of(), List.of("once more")));
                break;
            case "reversed":
                Collections.reverse(values);
                break;
            case "changed":
                values.removeIf(value -> value.name().equals("own.int") || value.name().equals("own.shade"));
                values.add(new ConfigValue("own.int", 8, new ArrayList<>(List.of(8, 9)), new ArrayList<>()));
                break;
            case "wrong type":
                values.removeIf(value -> value.name().equals("own.colour"));
                values.add(new ConfigValue("own.colour", 8, List.of(8.5), List.of()));
                break;
            case "no list":
                values.removeIf(value -> value.name().equals("own.list"));
                values.add(new ConfigValue("own.list", "a,b", List.of(), List.of()));
                break;
            case "hole":
                values.add(null);
                break;
            case "invisible":
                values.forEach(value -> value.visible(false));
                break;
            default:
        }
        return new Config(values);
    }

    @Override
    public void start(Map<String, String> props) {
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Idle.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of();
    }

    @Override
    public void stop() {
    }

    /** A task that there never is. */
    public static class Idle extends SourceTask {
        @Override
        public String version() {
            return "1.2.3";
        }

        @Override
        public void start(Map<String, String> props) {
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(100);
            return null;
        }

        @Override
        public void stop() {
        }
    }

    /** One without settings. */
    public static final class Bare extends DefinedSource {
        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }
    }

    public static final class Ghost extends DefinedSource {
        public Ghost() {
            super(Settings.Variant.GHOST);
        }
    }

    public static final class Null extends DefinedSource {
        public Null() {
            super(Settings.Variant.NULL);
        }
    }

    public static final class Throwing extends DefinedSource {
        public Throwing() {
            super(Settings.Variant.THROWING);
        }
    }

    public static final class Failing extends DefinedSource {
        public Failing() {
            super(Settings.Variant.FAILING);
        }
    }

    public static final class OfConfig extends DefinedSource {
        public OfConfig() {
            super(Settings.Variant.CONFIG);
        }
    }
}
