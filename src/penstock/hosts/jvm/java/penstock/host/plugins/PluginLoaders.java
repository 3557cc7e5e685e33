package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.connect.runtime.isolation.ClassLoaderFactory;
import org.apache.kafka.connect.runtime.isolation.PluginClassLoaderFactory;
import org.apache.kafka.connect.runtime.isolation.PluginDesc;
import org.apache.kafka.connect.runtime.isolation.PluginScanResult;
import org.apache.kafka.connect.runtime.isolation.PluginSource;
import org.apache.kafka.connect.runtime.isolation.PluginType;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;

/**
 * Java Connect's {@link Plugins} of what discovery has found: nothing is scanned again.
 *
 * <p>The catalogue is JSON, an array of locations: {@code [{"location": "/plugins/debezium", "plugins":
 * [{"class": "io.debezium...", "version": "3.7.0.Final", "kinds": ["source"]}], "moved": false}]}.
 */
public final class PluginLoaders {
    private static final ClassLoaderFactory FACTORY = new ClassLoaderFactory();
    private static final Path CLASS_PATH = Path.of("classpath");
    private static final Map<String, ClassLoader> BY_LOCATION = new ConcurrentHashMap<>();

    private PluginLoaders() {
    }

    /** Return the plugins of the class path alone. */
    public static Plugins withoutPlugins() {
        return new Plugins(Map.of("plugin.discovery", "service_load"));
    }

    /** Its delegating loader knows the classes of the catalogue; they are loaded, and not initialized. */
    public static Plugins of(Path catalogue) throws IOException {
        // It would say so of each plugin, in every JVM, which the worker has reported once.
        Configurator.setLevel("org.apache.kafka.connect.runtime.isolation", Level.WARN);
        Plugins plugins = withoutPlugins();
        Map<PluginType, SortedSet<PluginDesc<?>>> found = new EnumMap<>(PluginType.class);
        for (PluginType type : PluginType.values()) {
            found.put(type, new TreeSet<>());
        }
        for (JsonNode location : new ObjectMapper().readTree(catalogue.toFile())) {
            Path path = Path.of(location.get("location").asText());
            PluginSource source = isClassPath(path)
                ? PluginUtils.classpathPluginSource(PluginLoaders.class.getClassLoader())
                : source(path, plugins.delegatingLoader(), location.path("moved").asBoolean());
            BY_LOCATION.put(path.toString(), source.loader());
            for (JsonNode plugin : location.get("plugins")) {
                add(plugin, source.loader(), found);
            }
        }
        addOwn(plugins, found);
        plugins.delegatingLoader().installDiscoveredPlugins(result(found));
        return plugins;
    }

    /**
     * What is installed takes the place of what the loader knows of the same names: an old JsonConverter that a
     * location bundles must not hide that of the class path, which is newer.
     */
    private static void addOwn(Plugins plugins, Map<PluginType, SortedSet<PluginDesc<?>>> found) {
        found.get(PluginType.CONVERTER).addAll(plugins.converters());
        found.get(PluginType.HEADER_CONVERTER).addAll(plugins.headerConverters());
        found.get(PluginType.TRANSFORMATION).addAll(plugins.transformations());
        found.get(PluginType.PREDICATE).addAll(plugins.predicates());
        found.get(PluginType.CONNECTOR_CLIENT_CONFIG_OVERRIDE_POLICY).addAll(plugins.connectorClientConfigPolicies());
    }

    /** Whether this is the location of plugins on the class path, whose loader is that of the host. */
    static boolean isClassPath(Path location) {
        return location.equals(CLASS_PATH);
    }

    /** Open a location; {@code moved}: whether names in its classes have to be replaced ({@link RewritingLoader}). */
    static PluginSource source(Path location, ClassLoader parent, boolean moved) throws IOException {
        if (!moved) {
            return PluginUtils.isolatedPluginSource(location, parent, FACTORY);
        }
        MovedClasses names = new MovedClasses(PluginLoaders.class.getClassLoader());
        PluginClassLoaderFactory rewriting = (url, urls, above) -> new RewritingLoader(url, urls, above, names.without(urls));
        return PluginUtils.isolatedPluginSource(location, parent, rewriting);
    }

    /** The loader of a location of the catalogue; null for any other. */
    static ClassLoader at(String location) {
        return location == null ? null : BY_LOCATION.get(location);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void add(JsonNode plugin, ClassLoader loader, Map<PluginType, SortedSet<PluginDesc<?>>> found) {
        Class loaded;
        try {
            loaded = Class.forName(plugin.get("class").asText(), false, loader);
        } catch (ClassNotFoundException | LinkageError gone) {
            return; // refused, by its name, when somebody uses it
        }
        for (JsonNode kind : plugin.get("kinds")) {
            for (PluginType type : PluginType.values()) {
                if (type.toString().equals(kind.asText())) {
                    found.get(type).add(new PluginDesc(loaded, plugin.get("version").asText(), type, loader));
                }
            }
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static PluginScanResult result(Map<PluginType, SortedSet<PluginDesc<?>>> found) {
        return new PluginScanResult(
            (SortedSet) found.get(PluginType.SINK),
            (SortedSet) found.get(PluginType.SOURCE),
            (SortedSet) found.get(PluginType.CONVERTER),
            (SortedSet) found.get(PluginType.HEADER_CONVERTER),
            (SortedSet) found.get(PluginType.TRANSFORMATION),
            (SortedSet) found.get(PluginType.PREDICATE),
            (SortedSet) found.get(PluginType.CONFIGPROVIDER),
            (SortedSet) found.get(PluginType.REST_EXTENSION),
            (SortedSet) found.get(PluginType.CONNECTOR_CLIENT_CONFIG_OVERRIDE_POLICY));
    }
}
