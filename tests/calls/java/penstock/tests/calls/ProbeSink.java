package penstock.tests.calls;

import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

import java.util.List;
import java.util.Map;

/** A sink connector that notes each call. */
public final class ProbeSink extends SinkConnector {
    private Map<String, String> settings;
    private CallLog calls;

    @Override
    public String version() {
        return "1";
    }

    @Override
    public ConfigDef config() {
        return Settings.OF_CONNECTORS;
    }

    @Override
    public Config validate(Map<String, String> props) {
        new CallLog(props, "connector", this).note("validate", props.size());
        return super.validate(props);
    }

    @Override
    public void start(Map<String, String> props) {
        settings = props;
        calls = new CallLog(props, "connector", this);
        calls.note("start", props.size());
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ProbeSinkTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        calls.note("task_configs", maxTasks);
        return List.of(settings);
    }

    @Override
    public void stop() {
        calls.note("stop", 0);
    }
}
