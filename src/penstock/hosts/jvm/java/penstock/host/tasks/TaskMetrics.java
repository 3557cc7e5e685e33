package penstock.host.tasks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** The metrics that the plugins of one task register (KIP-877); tasks that share this JVM register the same names. */
public final class TaskMetrics {
    private static final String GROUP = "plugins";

    private final Metrics registry = new Metrics();
    private final Map<String, String> tags = new LinkedHashMap<>();

    private TaskMetrics(Session session) {
        tags.put("connector", session.about().path("connector").asText());
        tags.put("task", session.about().path("task").asText());
        session.onClose(registry);
    }

    private static TaskMetrics of(Session session) {
        return session.state(TaskMetrics.class, () -> new TaskMetrics(session));
    }

    public static void register(Map<String, Method> methods) {
        methods.put("task.metrics", (session, args, payload) -> Reply.of(of(session).read()));
    }

    /** Those of the task itself. */
    static PluginMetrics ofTask(Session session) {
        TaskMetrics metrics = of(session);
        return new PluginMetricsImpl(metrics.registry, metrics.tags);
    }

    /** Give a plugin that wants them its metrics; {@code tags} are all that they have. */
    static void tell(Session session, Object plugin, Map<String, String> tags) {
        if (plugin instanceof Monitorable monitorable) {
            monitorable.withPluginMetrics(new PluginMetricsImpl(of(session).registry, tags));
        }
    }

    private List<Map<String, Object>> read() {
        List<Map<String, Object>> found = new ArrayList<>();
        for (Map.Entry<MetricName, KafkaMetric> each : registry.metrics().entrySet()) {
            MetricName name = each.getKey();
            if (!name.group().equals(GROUP)) {
                continue;
            }
            Object value;
            try {
                value = each.getValue().metricValue();
            } catch (RuntimeException e) {
                continue; // that of a plugin's own code; the others are still wanted
            }
            if (value instanceof Number number && Double.isFinite(number.doubleValue())) {
                found.add(Map.of(
                    "name", name.name(), "description", name.description(), "tags", name.tags(),
                    "value", number.doubleValue()));
            }
        }
        return found;
    }
}
