package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigRequest;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigRequest.ClientType;
import org.apache.kafka.connect.health.ConnectorType;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import penstock.host.Host;
import penstock.host.Json;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** A policy on client settings that connectors override; a session has one. */
public final class PolicyMethods {
    private ConnectorClientConfigOverridePolicy policy;

    private PolicyMethods() {}

    public static void register(Map<String, Method> methods) {
        methods.put("policy.create", PolicyMethods::create);
        methods.put("policy.validate", PolicyMethods::validate);
    }

    private static Reply create(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        ConnectorClientConfigOverridePolicy policy = (ConnectorClientConfigOverridePolicy) PluginObjects.make(args.get("plugin"));
        policy.configure(Json.texts(args.get("config")));
        PluginObjects.giveMetrics(policy);
        session.onClose(policy);
        session.state(PolicyMethods.class, PolicyMethods::new).policy = policy;
        return Reply.NONE;
    }

    private static Reply validate(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        ConnectorClientConfigOverridePolicy policy = session.state(PolicyMethods.class, PolicyMethods::new).policy;
        ClientType client = ClientType.valueOf(args.get("client").asText().toUpperCase());
        Map<String, ConfigKey> keys = definitions(client).configKeys();
        Map<String, Object> overrides = new HashMap<>();
        Json.texts(args.get("overrides")).forEach((name, text) -> {
            ConfigKey key = keys.get(name);
            overrides.put(name, key == null ? text : ConfigDef.parseType(name, text, key.type));
        });
        ConnectorType type = ConnectorType.valueOf(args.get("kind").asText().toUpperCase());
        var request = new ConnectorClientConfigRequest(
            Json.text(args.get("connector")), type, connectorClass(args), overrides, client);
        try (LoaderSwap swap = Host.plugins().withClassLoader(policy.getClass().getClassLoader())) {
            return Reply.of(ValidatedValues.document(policy.validate(request), keys));
        }
    }

    /** Return the class of a connector, or null if it is no Java class. */
    private static Class<? extends Connector> connectorClass(JsonNode args) {
        try {
            return Host.plugins().connectorClass(args.get("connector_class").asText());
        } catch (RuntimeException unknown) {
            return null;
        }
    }

    private static ConfigDef definitions(ClientType client) {
        return switch (client) {
            case PRODUCER -> ProducerConfig.configDef();
            case CONSUMER -> ConsumerConfig.configDef();
            case ADMIN -> AdminClientConfig.configDef();
        };
    }
}
