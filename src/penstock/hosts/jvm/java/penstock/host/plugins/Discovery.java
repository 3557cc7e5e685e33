package penstock.host.plugins;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.kafka.connect.runtime.isolation.PluginDesc;
import org.apache.kafka.connect.runtime.isolation.PluginScanResult;
import org.apache.kafka.connect.runtime.isolation.PluginSource;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.isolation.ReflectionScanner;
import org.apache.kafka.connect.runtime.isolation.ServiceLoaderScanner;

/**
 * A program that looks for plugins in folders of jars with Java Connect's own scanners, by both of its ways:
 * {@code Discovery OUT LOCATION...} writes what it finds to the file OUT as JSON.
 */
public final class Discovery {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Plugins host = PluginLoaders.withoutPlugins();
    private final MovedClasses moved = new MovedClasses(Discovery.class.getClassLoader());

    private Discovery() {
    }

    public static void main(String[] words) throws Exception {
        ProblemLog problems = ProblemLog.install();
        Discovery discovery = new Discovery();
        ArrayNode found = JSON.createArrayNode();
        for (String location : List.of(words).subList(1, words.length)) {
            ObjectNode node = found.addObject().put("location", location);
            node.put("moved", false);
            problems.take();
            try {
                discovery.scan(Path.of(location), node, problems);
            } catch (Throwable error) {
                problems.add(location + " can't be scanned: " + error);
            }
            problems.take().forEach(node.putArray("problems")::add);
        }
        JSON.writeValue(new File(words[0]), found);
        Runtime.getRuntime().halt(0); // whatever threads the plugins' constructors have left
    }

    private void scan(Path location, ObjectNode node, ProblemLog problems) throws Exception {
        ArrayNode plugins = node.putArray("plugins");
        ArrayNode newer = node.putArray("newer");
        PluginSource source = source(location, node);
        Predicate<PluginDesc<?>> wanted = PluginLoaders.isClassPath(location) ? Discovery::isOfUser : plugin -> true;
        Map<String, ObjectNode> found = new TreeMap<>();
        PluginScanResult listed = new ServiceLoaderScanner().discoverPlugins(Set.of(source));
        // Both ways see the same classes; what prevents one is reported once.
        listed.forEach(each -> describe(each, "service", found, wanted));
        List<String> said = problems.take();
        PluginScanResult scanned = new ReflectionScanner().discoverPlugins(Set.of(source));
        scanned.forEach(each -> describe(each, "scan", found, wanted));
        said.forEach(problems::add);
        NewerClasses.describe(source, newer);
        found.values().forEach(plugins::add);
    }

    private PluginSource source(Path location, ObjectNode node) throws IOException {
        if (PluginLoaders.isClassPath(location)) {
            return PluginUtils.classpathPluginSource(Discovery.class.getClassLoader());
        }
        PluginSource plain = PluginLoaders.source(location, host.delegatingLoader(), false);
        if (!RewritingLoader.isNeeded(plain.urls(), moved)) {
            return plain;
        }
        node.put("moved", true);
        return PluginLoaders.source(location, host.delegatingLoader(), true);
    }

    /** Whether a plugin on the class path is in what {@code CLASSPATH} names, and not in Kafka's own jars. */
    private static boolean isOfUser(PluginDesc<?> plugin) {
        CodeSource source = plugin.pluginClass().getProtectionDomain().getCodeSource();
        if (source == null || !source.getLocation().getProtocol().equals("file")) {
            return false;
        }
        String[] entries = System.getProperty("penstock.class.path", "").split(File.pathSeparator);
        return Arrays.asList(entries).contains(Path.of(URI.create(source.getLocation().toString())).toString());
    }

    private void describe(
        PluginDesc<?> plugin, String way, Map<String, ObjectNode> found, Predicate<PluginDesc<?>> wanted) {
        if (!wanted.test(plugin)) {
            return;
        }
        ObjectNode node = found.computeIfAbsent(plugin.className(), name -> {
            ObjectNode made = JSON.createObjectNode().put("class", name).put("version", plugin.version());
            made.putArray("service");
            made.putArray("scan");
            Definitions.write(host, plugin.pluginClass(), made);
            return made;
        });
        String kind = plugin.type().toString();
        ((ArrayNode) node.get(way)).add(kind);
    }
}
