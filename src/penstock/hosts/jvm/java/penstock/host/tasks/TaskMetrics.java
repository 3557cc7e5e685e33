package penstock.host.tasks;

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
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** The metrics that the plugins of one task register (KIP-877), a registry each. */
public final class TaskMetrics {
    private static final String GROUP = "plugins";

    private final List<Metrics> registries = new CopyOnWriteArrayList<>();

    private static TaskMetrics of(Session session) {
        return session.state(TaskMetrics.class, TaskMetrics::new);
    }

    public static void register(Map<String, Method> methods) {
        methods.put("task.metrics", (session, args, payload) -> Reply.of(of(session).read()));
    }

    /** Those of the task itself. */
    static PluginMetrics ofTask(Session session) {
        Map<String, String> tags = new LinkedHashMap<>();
        tags.put("connector", session.about().path("connector").asText());
        tags.put("task", session.about().path("task").asText());
        Metrics registry = of(session).add();
        session.onClose(registry);
        return new PluginMetricsImpl(registry, tags);
    }

    /** Give a plugin that wants them its metrics; {@code tags} are all that they have. What it returns ends them. */
    static AutoCloseable tell(Session session, Monitorable plugin, Map<String, String> tags) {
        TaskMetrics metrics = of(session);
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

    private List<Map<String, Object>> read() {
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
        return found;
    }

    /** Null if the plugin's own code fails: the other metrics are still wanted. */
    private static Object value(KafkaMetric metric) {
        try {
            return metric.metricValue();
        } catch (RuntimeException e) {
            return null;
        }
    }
}
