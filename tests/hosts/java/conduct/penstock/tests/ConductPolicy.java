package penstock.tests;

import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigRequest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Forbids overrides of {@code acks}, and names what it was asked about; needs metrics and its own loader. */
public final class ConductPolicy implements ConnectorClientConfigOverridePolicy, Monitorable {
    private PluginMetrics metrics;
    private Conduct conduct = new Conduct(Map.of());

    @Override
    public void withPluginMetrics(PluginMetrics given) {
        metrics = given;
    }

    @Override
    public void configure(Map<String, ?> configs) {
        if (configs.get("journal") instanceof String journal) {
            conduct = new Conduct(Map.of("journal", journal));
        }
    }

    @Override
    public List<ConfigValue> validate(ConnectorClientConfigRequest request) {
        metrics.metricName("asked", "", new LinkedHashMap<>());
        Conduct.checkLoader(getClass());
        List<ConfigValue> values = new ArrayList<>();
        request.clientProps().forEach((name, given) -> {
            ConfigValue value = new ConfigValue(name, given, List.of(), new ArrayList<>());
            if (name.equals("acks")) {
                value.addErrorMessage(given + " is not for " + request.clientType() + " of " + request.connectorName()
                    + ", a " + request.connectorType() + " of " + request.connectorClass().getSimpleName());
            }
            values.add(value);
        });
        return values;
    }

    @Override
    public void close() {
        conduct.at("close");
    }
}
