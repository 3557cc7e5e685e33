package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import penstock.host.Host;
import penstock.host.Json;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** A config provider; a session has one. */
public final class ProviderMethods {
    private ConfigProvider provider;

    private ProviderMethods() {}

    public static void register(Map<String, Method> methods) {
        methods.put("provider.create", ProviderMethods::create);
        methods.put("provider.get", ProviderMethods::get);
    }

    private static Reply create(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        ConfigProvider provider = (ConfigProvider) PluginObjects.make(args.get("plugin"));
        provider.configure(Json.texts(args.get("config")));
        PluginObjects.giveMetrics(provider);
        session.onClose(provider);
        session.state(ProviderMethods.class, ProviderMethods::new).provider = provider;
        return Reply.NONE;
    }

    private static Reply get(Session session, JsonNode args, ByteBuffer payload) {
        ConfigProvider provider = session.state(ProviderMethods.class, ProviderMethods::new).provider;
        String path = args.get("path").asText();
        try (LoaderSwap swap = Host.plugins().withClassLoader(provider.getClass().getClassLoader())) {
            if (args.get("keys").isNull()) {
                return Reply.of(found(provider.get(path)));
            }
            Set<String> keys = new LinkedHashSet<>();
            args.get("keys").forEach(each -> keys.add(each.asText()));
            return Reply.of(found(provider.get(path, keys)));
        }
    }

    private static Map<String, Object> found(ConfigData data) {
        Map<String, Object> found = new HashMap<>();
        found.put("data", data.data());
        found.put("ttl", data.ttl());
        return found;
    }
}
