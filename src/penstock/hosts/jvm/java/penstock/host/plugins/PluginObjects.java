package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.maven.artifact.versioning.VersionRange;
import penstock.host.Host;
import penstock.host.Json;

/** Makes objects of plugin classes, each in the version and from the place that the caller has chosen. */
public final class PluginObjects {
    private PluginObjects() {}

    /** {@code args}: "class" and "version", as discovery has found them. */
    public static Object make(JsonNode args) throws Exception {
        Plugins plugins = Host.plugins();
        Class<?> found = plugins.pluginClass(args.get("class").asText(), version(args.get("version")));
        JdbcDrivers.register(found.getClassLoader());
        Thread.currentThread().setContextClassLoader(found.getClassLoader());
        return plugins.newPlugin(args.get("class").asText(), version(args.get("version")));
    }

    /** A version or a range of them; null for any. */
    public static VersionRange version(JsonNode wanted) throws Exception {
        String version = Json.text(wanted);
        return PluginUtils.connectorVersionRequirement("undefined".equals(version) ? null : version);
    }
}
