package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.runtime.rest.errors.BadRequestException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.source.SourceConnector;
import penstock.host.Json;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** The methods of one {@code Connector}, made by {@code connector.create}; a session has one. */
public final class ConnectorMethods {
    private Connector connector;
    private boolean initialized;

    private ConnectorMethods() {}

    public static void register(Map<String, Method> methods) {
        methods.put("connector.create", (session, args, payload) -> of(session).create(args));
        methods.put("connector.validate", (session, args, payload) -> of(session).validate(args));
        methods.put("connector.start", (session, args, payload) -> of(session).start(session, args));
        methods.put("connector.stop", (session, args, payload) -> of(session).stop());
        methods.put("connector.taskConfigs", (session, args, payload) -> of(session).taskConfigs(args));
        methods.put("connector.exactlyOnceSupport", ConnectorMethods::exactlyOnceSupport);
        methods.put("connector.transactionBoundaries", ConnectorMethods::transactionBoundaries);
        methods.put("connector.alterOffsets", ConnectorMethods::alterOffsets);
    }

    private static ConnectorMethods of(Session session) {
        return session.state(ConnectorMethods.class, ConnectorMethods::new);
    }

    private Reply create(JsonNode args) throws Exception {
        connector = (Connector) PluginObjects.make(args.get("plugin"));
        return Reply.of(connector.version());
    }

    private Reply validate(JsonNode args) {
        Config validated = connector.validate(Json.texts(args.get("config")));
        if (validated == null) {
            throw new BadRequestException(
                connector.getClass().getName() + ".validate() must return a Config that is not null.");
        }
        return Reply.of(ValidatedValues.document(validated, connector.config()));
    }

    private Reply start(Session session, JsonNode args) {
        if (!initialized) {
            initialized = true;
            String name = args.get("name").asText();
            connector.initialize(
                connector instanceof SourceConnector
                    ? new Contexts.Source(session, name)
                    : new Contexts.Sink(session, name));
        }
        connector.start(Json.texts(args.get("config")));
        return Reply.NONE;
    }

    private Reply stop() {
        connector.stop();
        return Reply.NONE;
    }

    private Reply taskConfigs(JsonNode args) {
        List<Map<String, String>> made = connector.taskConfigs(args.get("max_tasks").asInt());
        if (made == null) {
            throw new NullPointerException("taskConfigs of " + connector.getClass().getName() + " has returned null");
        }
        Map<String, Object> reply = new HashMap<>();
        reply.put("configs", made);
        reply.put("task_class", connector.taskClass().getName());
        return Reply.of(reply);
    }

    private static Reply exactlyOnceSupport(Session session, JsonNode args, ByteBuffer payload) {
        Object answer = ((SourceConnector) of(session).connector).exactlyOnceSupport(Json.texts(args.get("config")));
        return Reply.of(answer == null ? null : answer.toString());
    }

    private static Reply transactionBoundaries(Session session, JsonNode args, ByteBuffer payload) {
        SourceConnector source = (SourceConnector) of(session).connector;
        Object answer = source.canDefineTransactionBoundaries(Json.texts(args.get("config")));
        return Reply.of(answer == null ? null : answer.toString());
    }

    private static Reply alterOffsets(Session session, JsonNode args, ByteBuffer payload) {
        Map<String, String> config = Json.texts(args.get("config"));
        Connector connector = of(session).connector;
        if (connector instanceof SourceConnector source) {
            Map<Map<String, ?>, Map<String, ?>> offsets = new HashMap<>();
            args.get("offsets").forEach(each -> offsets.put(Json.offset(each.get(0)), Json.offset(each.get(1))));
            return Reply.of(source.alterOffsets(config, offsets));
        }
        Map<TopicPartition, Long> offsets = new HashMap<>();
        for (JsonNode each : args.get("offsets")) {
            TopicPartition place = new TopicPartition(each.get(0).asText(), each.get(1).asInt());
            offsets.put(place, each.get(2).isNull() ? null : (Long) each.get(2).asLong());
        }
        return Reply.of(((SinkConnector) connector).alterOffsets(config, offsets));
    }
}
