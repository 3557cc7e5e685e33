package penstock.tests.everything;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** Writes every record to a file, a line each, with all that its task can see of it. */
public final class DescribingSink extends SinkConnector {
    private Map<String, String> config = Map.of();

    @Override
    public String version() {
        return "1";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("file", Type.STRING, Importance.HIGH, "Where to.");
    }

    @Override
    public void start(Map<String, String> props) {
        config = props;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return DescribingTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return java.util.Collections.nCopies(maxTasks, config);
    }

    @Override
    public void stop() {
    }

    /** One call of {@code put} is one write. */
    public static final class DescribingTask extends SinkTask {
        private Path file;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> props) {
            file = Path.of(props.get("file"));
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            StringBuilder text = new StringBuilder();
            for (SinkRecord each : records) {
                text.append(Description.of(each)).append('\n');
            }
            try {
                Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void stop() {
        }
    }
}
