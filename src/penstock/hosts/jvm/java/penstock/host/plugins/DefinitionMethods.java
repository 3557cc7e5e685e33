package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;
import penstock.host.Json;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** The code in a plugin's ConfigDef: validators and recommenders of single settings. */
public final class DefinitionMethods {
    private final Map<JsonNode, ConfigDef> definitions = new HashMap<>();

    private DefinitionMethods() {}

    public static void register(Map<String, Method> methods) {
        methods.put("definition.check", DefinitionMethods::check);
        methods.put("definition.recommend", DefinitionMethods::recommend);
    }

    /** Null, or what is wrong with a parsed value. */
    private static Reply check(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        ConfigDef defined = of(session, args);
        ConfigKey key = defined.configKeys().get(args.get("name").asText());
        try {
            key.validator.ensureValid(key.name, typed(args.get("value"), key.type));
            return Reply.NONE;
        } catch (ConfigException problem) {
            return Reply.of(String.valueOf(problem.getMessage()));
        }
    }

    /** What a recommender says, given all parsed values. */
    private static Reply recommend(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        ConfigDef defined = of(session, args);
        ConfigKey key = defined.configKeys().get(args.get("name").asText());
        Map<String, Object> parsed = new HashMap<>();
        args.get("parsed").fields().forEachRemaining(each -> {
            ConfigKey other = defined.configKeys().get(each.getKey());
            parsed.put(each.getKey(), typed(each.getValue(), other == null ? null : other.type));
        });
        Map<String, Object> reply = new HashMap<>();
        try {
            List<Object> values = key.recommender.validValues(key.name, parsed);
            reply.put("values", ValidatedValues.recommended(values, key.type));
            reply.put("visible", key.recommender.visible(key.name, parsed));
        } catch (ConfigException problem) {
            reply.put("error", String.valueOf(problem.getMessage()));
        }
        return Reply.of(reply);
    }

    private static ConfigDef of(Session session, JsonNode args) throws Exception {
        DefinitionMethods state = session.state(DefinitionMethods.class, DefinitionMethods::new);
        JsonNode plugin = args.get("plugin");
        ConfigDef known = state.definitions.get(plugin);
        if (known == null) {
            known = Definitions.of(PluginObjects.make(plugin));
            state.definitions.put(plugin, known);
        }
        return known;
    }

    /** JSON as ConfigDef's parser leaves a value of this type. */
    private static Object typed(JsonNode node, ConfigDef.Type type) {
        if (node == null || node.isNull()) {
            return null;
        }
        if (type == null) {
            return Json.value(node);
        }
        switch (type) {
            case BOOLEAN:
                return node.booleanValue();
            case SHORT:
                return (short) node.intValue();
            case INT:
                return node.intValue();
            case LONG:
                return node.longValue();
            case DOUBLE:
                return node.doubleValue();
            case PASSWORD:
                return new Password(node.asText());
            case LIST:
                List<String> items = new ArrayList<>();
                node.forEach(each -> items.add(each.asText()));
                return items;
            default:
                return ConfigDef.parseType("value", node.asText(), type);
        }
    }
}
