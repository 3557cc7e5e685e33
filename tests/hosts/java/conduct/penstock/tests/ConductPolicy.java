package penstock.tests;

import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigRequest;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Forbids overrides of {@code acks}, and names what it was asked about. */
public final class ConductPolicy implements ConnectorClientConfigOverridePolicy {
    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public List<ConfigValue> validate(ConnectorClientConfigRequest request) {
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
    }
}
