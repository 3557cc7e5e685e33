package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.transforms.Transformation;
import penstock.host.Json;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** Validation by the ConfigDef of a transform, a predicate or a converter, as Java Connect does it. */
public final class DefinitionMethods {
    private final Map<JsonNode, ConfigDef> definitions = new HashMap<>();

    private DefinitionMethods() {}

    public static void register(Map<String, Method> methods) {
        methods.put("definition.validate", DefinitionMethods::validate);
    }

    /** With a prefix the settings are those of a connector that has embedded these definitions under it. */
    private static Reply validate(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        ConfigDef defined = of(session, args.get("plugin"));
        String prefix = args.get("prefix").asText();
        if (!prefix.isEmpty()) {
            ConfigDef embedded = new ConfigDef();
            embedded.embed(prefix, "", 0, defined);
            defined = embedded;
        }
        Map<String, String> config = Json.texts(args.get("config"));
        return Reply.of(ValidatedValues.document(new ArrayList<>(defined.validateAll(config).values()), defined));
    }

    private static ConfigDef of(Session session, JsonNode plugin) throws Exception {
        DefinitionMethods state = session.state(DefinitionMethods.class, DefinitionMethods::new);
        ConfigDef known = state.definitions.get(plugin);
        if (known == null) {
            Object made = PluginObjects.make(plugin);
            known = Definitions.of(made);
            if (made instanceof Transformation) {
                known = withImplicit(known);
            }
            state.definitions.put(plugin, known);
        }
        return known;
    }

    /** With the settings that every transform has; they hide its own of the same names. */
    private static ConfigDef withImplicit(ConfigDef defined) {
        ConfigDef all = new ConfigDef()
            .define("predicate", Type.STRING, null, Importance.MEDIUM, "")
            .define("negate", Type.BOOLEAN, false, Importance.MEDIUM, "");
        defined.configKeys().forEach((name, key) -> {
            if (!all.names().contains(name)) {
                all.define(key);
            }
        });
        return all;
    }
}
