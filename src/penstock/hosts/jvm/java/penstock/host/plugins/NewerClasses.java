package penstock.host.plugins;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.classgraph.ClassGraph;
import io.github.classgraph.ClassInfo;
import io.github.classgraph.ScanResult;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.connect.runtime.isolation.PluginSource;
import org.apache.kafka.connect.runtime.isolation.PluginType;

/** Plugin classes that this Java can't load, since they are compiled for a newer one. */
final class NewerClasses {
    private static final int JAVA_1_0 = 44;

    private NewerClasses() {
    }

    /** Describes each with its kinds and a sentence; the scanners pass over them in silence. */
    static void describe(PluginSource source, ArrayNode out) {
        int here = Runtime.version().feature();
        ClassGraph graph = new ClassGraph().overrideClasspath((Object[]) source.urls());
        try (ScanResult scan = graph.enableExternalClasses().enableClassInfo().scan()) {
            for (ClassInfo each : scan.getAllStandardClasses()) {
                int compiledFor = each.getClassfileMajorVersion() - JAVA_1_0;
                List<String> kinds = kinds(each);
                if (compiledFor > here && !each.isExternalClass() && !each.isAbstract() && !kinds.isEmpty()) {
                    ObjectNode node = out.addObject().put("class", each.getName());
                    kinds.forEach(node.putArray("kinds")::add);
                    node.put("problem", each.getName() + " of " + source.location() + " can't be used: it is compiled "
                        + "for Java " + compiledFor + ", and this is Java " + here);
                }
            }
        }
    }

    private static List<String> kinds(ClassInfo each) {
        List<String> found = new ArrayList<>();
        for (PluginType type : PluginType.values()) {
            String base = type.superClass().getName();
            if (each.extendsSuperclass(base) || each.implementsInterface(base)) {
                found.add(type.toString());
            }
        }
        return found;
    }
}
