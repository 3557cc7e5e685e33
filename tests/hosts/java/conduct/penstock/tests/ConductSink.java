package penstock.tests;

import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A sink that writes values to a file, and does what {@link Conduct} says. */
public final class ConductSink extends SinkConnector {
    static final ConfigDef DEFINITION = new ConfigDef(Conduct.COMMON)
        .define("file", Type.STRING, null, Importance.MEDIUM, "Where values are written.")
        .define("flush.commits", Type.BOOLEAN, true, Importance.LOW, "Whether preCommit agrees to all offsets.")
        .define("commit.metadata", Type.STRING, null, Importance.LOW, "Metadata of the offsets that preCommit returns.")
        .define("commit.null", Type.BOOLEAN, false, Importance.LOW, "Whether preCommit returns null.")
        .define("commit.null.offset", Type.BOOLEAN, false, Importance.LOW, "Whether preCommit returns a null for an offset.")
        .define("rewind.once.at", Type.LONG, -1L, Importance.LOW, "At which offset to go back to the first record, once.")
        .define("errant", Type.STRING, null, Importance.LOW, "The value that is reported as errant.")
        .define("errant.own", Type.BOOLEAN, false, Importance.LOW, "Whether it is reported in a record that the task makes.")
        .define("seek.at", Type.STRING, null, Importance.LOW, "The value at which the task wants to read from elsewhere.")
        .define("seek.to", Type.STRING, null, Importance.LOW, "From where: an offset, none for null.")
        .define("seek.in", Type.STRING, null, Importance.LOW, "In which partition of the topic.")
        .define("commit.at", Type.STRING, null, Importance.LOW, "The value at which a commit is requested.")
        .define("pause.at", Type.STRING, null, Importance.LOW, "The value at which all partitions are paused, for a second.")
        .define("timeout.ms", Type.LONG, -1L, Importance.LOW, "The timeout set before put throws.");

    private Map<String, String> config = Map.of();
    private Conduct conduct = new Conduct(Map.of());

    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public ConfigDef config() {
        return DEFINITION;
    }

    @Override
    public Config validate(Map<String, String> configs) {
        new Conduct(configs).at("validate");
        return super.validate(configs);
    }

    @Override
    public void start(Map<String, String> props) {
        config = props;
        conduct = new Conduct(props);
        conduct.at("connector.start", Thread.currentThread().getName());
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ConductSinkTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        conduct.at("taskConfigs", maxTasks);
        List<Map<String, String>> tasks = new ArrayList<>();
        for (int i = 0; i < maxTasks; i++) {
            tasks.add(config);
        }
        return tasks;
    }

    @Override
    public boolean alterOffsets(Map<String, String> props, Map<TopicPartition, Long> offsets) {
        new Conduct(props).at("alterOffsets", offsets);
        return true;
    }

    @Override
    public void stop() {
        conduct.at("connector.stop");
    }
}
