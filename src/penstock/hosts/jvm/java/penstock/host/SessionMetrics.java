package penstock.host;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;

/** The metrics that the plugins of a session register: by KIP-877, a registry each, and as MBeans. */
public final class SessionMetrics {
    private static final String GROUP = "plugins";

    private final List<Metrics> registries = new CopyOnWriteArrayList<>();
    /** The connector, and the task if it is one's session. */
    private volatile Map<String, String> owner = Map.of();

    private static SessionMetrics of(Session session) {
        return session.state(SessionMetrics.class, SessionMetrics::new);
    }

    static void register(Map<String, Method> methods) {
        methods.put("metrics", (session, args, payload) -> Reply.of(of(session).read(session)));
    }

    /** Return the metrics of the task itself. */
    public static PluginMetrics ofTask(Session session) {
        Map<String, String> tags = new LinkedHashMap<>();
        tags.put("connector", session.about().path("connector").asText());
        tags.put("task", session.about().path("task").asText());
        return with(session, tags);
    }

    /** Return the metrics of the connector itself. */
    public static PluginMetrics ofConnector(Session session, String name) {
        return with(session, Map.of("connector", name));
    }

    private static PluginMetrics with(Session session, Map<String, String> tags) {
        SessionMetrics metrics = of(session);
        metrics.owner = tags;
        Metrics registry = metrics.add();
        session.onClose(registry);
        return new PluginMetricsImpl(registry, tags);
    }

    /** Give a plugin that wants them its metrics; {@code tags} are all that they have. What it returns ends them. */
    public static AutoCloseable tell(Session session, Monitorable plugin, Map<String, String> tags) {
        SessionMetrics metrics = of(session);
        Metrics registry = metrics.add();
        plugin.withPluginMetrics(new PluginMetricsImpl(registry, tags));
        return () -> {
            metrics.registries.remove(registry);
            registry.close();
        };
    }

    private Metrics add() {
        Metrics registry = new Metrics();
        registries.add(registry);
        return registry;
    }

    private List<Map<String, Object>> read(Session session) {
        List<Map<String, Object>> found = new ArrayList<>();
        for (Metrics registry : registries) {
            for (KafkaMetric each : registry.metrics().values()) {
                MetricName name = each.metricName();
                if (name.group().equals(GROUP) && value(each) instanceof Number number
                        && Double.isFinite(number.doubleValue())) {
                    found.add(Map.of(
                        "name", name.name(), "description", name.description(), "tags", name.tags(),
                        "value", number.doubleValue()));
                }
            }
        }
        found.addAll(MBeans.read(session, owner));
        return found;
    }

    /** Return the value of a metric, or null if the plugin's code fails: the other metrics are still wanted. */
    private static Object value(KafkaMetric metric) {
        try {
            return metric.metricValue();
        } catch (RuntimeException e) {
            return null;
        }
    }
}
