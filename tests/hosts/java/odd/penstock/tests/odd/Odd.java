package penstock.tests.odd;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Connectors that break what the API asks of classes, one thing each; {@link Odd} itself breaks nothing. */
public class Odd extends SourceConnector {
    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
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
        return List.of(Map.of());
    }

    @Override
    public void stop() {
    }

    /** A task that does nothing. */
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

    public static final class NoConfig extends Odd {
        @Override
        public ConfigDef config() {
            return null;
        }
    }

    public static final class ThrowingConfig extends Odd {
        @Override
        public ConfigDef config() {
            throw new IllegalStateException("no definitions");
        }
    }

    public static final class NoTaskClass extends Odd {
        @Override
        public Class<? extends Task> taskClass() {
            return null;
        }
    }

    public static final class BrokenTask extends Odd {
        @Override
        public Class<? extends Task> taskClass() {
            return Unmade.class;
        }

        public static final class Unmade extends Idle {
            public Unmade() {
                throw new IllegalStateException("a task that can't be made");
            }
        }
    }

    public static final class HiddenTask extends Odd {
        @Override
        public Class<? extends Task> taskClass() {
            return Hidden.class;
        }

        public static final class Hidden extends Idle {
            private Hidden() {
            }
        }
    }

    public static final class NoVersion extends Odd {
        @Override
        public String version() {
            return null;
        }
    }

    public static final class ThrowingVersion extends Odd {
        @Override
        public String version() {
            throw new IllegalStateException("no version");
        }
    }

    public static final class Unmade extends Odd {
        public Unmade() {
            throw new IllegalStateException("a connector that can't be made");
        }
    }

    public static final class Uninitialized extends Odd {
        static {
            if (true) {
                throw new IllegalStateException("a class that can't be initialized");
            }
        }
    }
}
