package penstock.host.plugins;

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

    /** A sentence for each; the scanners pass over them in silence. */
    static List<String> in(PluginSource source) {
        int here = Runtime.version().feature();
        List<String> sentences = new ArrayList<>();
        ClassGraph graph = new ClassGraph().overrideClasspath((Object[]) source.urls());
        try (ScanResult scan = graph.enableExternalClasses().enableClassInfo().scan()) {
            for (ClassInfo each : scan.getAllStandardClasses()) {
                int compiledFor = each.getClassfileMajorVersion() - JAVA_1_0;
                if (compiledFor > here && !each.isExternalClass() && !each.isAbstract() && isPlugin(each)) {
                    sentences.add(each.getName() + " of " + source.location() + " can't be used: it is compiled for "
                        + "Java " + compiledFor + ", and this is Java " + here);
                }
            }
        }
        return sentences;
    }

    private static boolean isPlugin(ClassInfo each) {
        for (PluginType type : PluginType.values()) {
            String base = type.superClass().getName();
            if (each.extendsSuperclass(base) || each.implementsInterface(base)) {
                return true;
            }
        }
        return false;
    }
}
