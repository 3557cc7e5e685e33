package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Map;

/** Methods about the host itself. */
final class HostMethods {
    private HostMethods() {}

    static void register(Map<String, Method> methods) {
        methods.put("host.about", HostMethods::about);
        methods.put("host.levels", HostMethods::levels);
    }

    private static Reply about(Session session, JsonNode args, ByteBuffer payload) {
        Runtime runtime = Runtime.getRuntime();
        return Reply.of(Map.of(
            "pid", ProcessHandle.current().pid(),
            "java", Runtime.version().feature(),
            "sessions", Host.sessions(),
            "used", runtime.totalMemory() - runtime.freeMemory(),
            "max", runtime.maxMemory(),
            "uptime", ManagementFactory.getRuntimeMXBean().getUptime()));
    }

    private static Reply levels(Session session, JsonNode args, ByteBuffer payload) {
        args.get("levels").fields().forEachRemaining(each -> Logs.setLevel(each.getKey(), each.getValue().asText()));
        return Reply.NONE;
    }
}
