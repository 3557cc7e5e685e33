package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.maven.artifact.versioning.VersionRange;
import penstock.host.Host;
import penstock.host.Json;

/** Makes objects of plugin classes, each from the location that the caller has chosen. */
public final class PluginObjects {
    private PluginObjects() {}

    /**
     * {@code plugin}: "class" and "location", as discovery has found them: versions do not distinguish locations, since
     * classes of one name may have the same version, or none. Without a location, the newest.
     */
    public static Object make(JsonNode plugin) throws Exception {
        Plugins plugins = Host.plugins();
        String name = plugin.get("class").asText();
        ClassLoader from = PluginLoaders.at(Json.text(plugin.get("location")));
        if (from == PluginObjects.class.getClassLoader()) {
            return onClassPath(name, plugins);
        }
        Class<?> found = plugins.pluginLoader(name, null, from).loadClass(name);
        JdbcDrivers.register(found.getClassLoader());
        Thread.currentThread().setContextClassLoader(found.getClassLoader());
        return plugins.newPlugin(name, null, from);
    }

    private static Object onClassPath(String name, Plugins plugins) throws ClassNotFoundException {
        Class<?> found = Class.forName(name, true, PluginObjects.class.getClassLoader());
        Thread.currentThread().setContextClassLoader(plugins.delegatingLoader());
        try {
            return found.getDeclaredConstructor().newInstance();
        } catch (Throwable error) {
            Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
            throw new ConnectException("Instantiation error", cause);
        }
    }

    /** Give a plugin of the worker's, which may need metrics to work, some that are not shown. */
    static void giveMetrics(Object plugin) {
        if (plugin instanceof Monitorable monitorable) {
            monitorable.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        }
    }

    /** A version or a range of them; null for any. */
    public static VersionRange version(JsonNode wanted) throws Exception {
        return PluginUtils.connectorVersionRequirement(Json.text(wanted));
    }
}
