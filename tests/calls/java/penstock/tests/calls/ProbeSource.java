package penstock.tests.calls;

import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;

import java.util.List;
import java.util.Map;

/** A source connector that notes each call. */
public final class ProbeSource extends SourceConnector {
    private Map<String, String> settings;
    private CallLog calls;

    private CallLog calls(Map<String, String> props) {
        return new CallLog(props, "connector", this);
    }

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
        calls(props).note("validate", props.size());
        return super.validate(props);
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> props) {
        calls(props).note("exactly_once_support", props.size());
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> props) {
        calls(props).note("can_define_transaction_boundaries", props.size());
        return ConnectorTransactionBoundaries.SUPPORTED;
    }

    @Override
    public void start(Map<String, String> props) {
        settings = props;
        calls = calls(props);
        calls.note("start", props.size());
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ProbeSourceTask.class;
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
