package penstock.tests;

import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.metrics.Measurable;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A source of numbers that does what {@link Conduct} says. */
public final class ConductSource extends SourceConnector {
    static final ConfigDef DEFINITION = new ConfigDef(Conduct.COMMON)
        .define("topic", Type.STRING, Importance.HIGH, "Where to.")
        .define("records", Type.LONG, 100L, Importance.MEDIUM, "How many records each task produces.")
        .define("batch", Type.INT, 10, Importance.MEDIUM, "How many records a poll returns.")
        .define("partitions", Type.INT, -1, Importance.LOW, "Over how many partitions to spread records; -1 for the producer's choice.")
        .define("transaction.every", Type.INT, 0, Importance.LOW, "After how many records to commit a transaction.")
        .define("abort.at", Type.LONG, -1L, Importance.LOW, "The record at which the transaction is aborted, once.")
        .define("reconfigure.after.ms", Type.LONG, -1L, Importance.LOW, "When to ask for another configuration of tasks.")
        .define("raise.after.ms", Type.LONG, -1L, Importance.LOW, "When to fail by raiseError.")
        .define("tasks.then", Type.INT, 1, Importance.LOW, "How many tasks there are after that.")
        .define("tasks.made", Type.STRING, null, Importance.LOW, "How many tasks it makes, whatever is asked for; null, hole: no list, a list of null.")
        .define("valid", Type.STRING, "yes", Importance.LOW, "null: validate returns null.")
        .define("odd.offsets", Type.BOOLEAN, false, Importance.LOW, "Whether offsets have values that JSON has not.")
        .define("exactly.once", Type.STRING, "SUPPORTED", Importance.LOW, "SUPPORTED, UNSUPPORTED or null.");

    private static final String SERVICE = "META-INF/services/org.apache.kafka.common.config.provider.ConfigProvider";
    /** The loader of the thread while this class was initialized. */
    private static final ClassLoader FIRST = Thread.currentThread().getContextClassLoader();

    private Map<String, String> config = Map.of();
    private Conduct conduct = new Conduct(Map.of());
    private volatile boolean reconfigured;
    private Thread thread;

    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public ConfigDef config() {
        return DEFINITION;
    }

    @Override
    public Config validate(Map<String, String> configs) {
        new Conduct(configs).at("validate");
        noteLoaders("validate", configs);
        if ("null".equals(configs.get("valid"))) {
            return null;
        }
        return super.validate(configs);
    }

    @Override
    public void start(Map<String, String> props) {
        config = props;
        conduct = new Conduct(props);
        conduct.at("connector.start", Thread.currentThread().getName());
        noteLoaders("start", props);
        MetricName settings = context().pluginMetrics().metricName("settings", "How many it has", new LinkedHashMap<>());
        context().pluginMetrics().addMetric(settings, (Measurable) (given, now) -> props.size());
        if (props.containsKey("look.up")) {
            Map<String, String> partition = "null".equals(props.get("look.up")) ? null : Map.of("task", "0");
            conduct.note("looked.up", context().offsetStorageReader().offset(partition));
        }
        long reconfigure = Long.parseLong(props.getOrDefault("reconfigure.after.ms", "-1"));
        long raise = Long.parseLong(props.getOrDefault("raise.after.ms", "-1"));
        if (reconfigure >= 0 || raise >= 0) {
            thread = new Thread(() -> later(reconfigure, raise), "later");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** With {@code loaders}: whether the thread has the loader of this class, now and at first, and what that does. */
    private static void noteLoaders(String method, Map<String, String> props) {
        if (props.containsKey("loaders")) {
            ClassLoader own = ConductSource.class.getClassLoader();
            ClassLoader now = Thread.currentThread().getContextClassLoader();
            String path = own.getResource(SERVICE).getPath();
            new Conduct(props).note("loaders", method + " " + (now == own) + " first " + (FIRST == own)
                + " parallel " + own.isRegisteredAsParallelCapable() + " resource " + path.contains("test-conduct"));
        }
    }

    private void later(long reconfigure, long raise) {
        try {
            Thread.sleep(Math.max(reconfigure, raise));
        } catch (InterruptedException e) {
            return;
        }
        if (reconfigure >= 0) {
            reconfigured = true;
            context().requestTaskReconfiguration();
        } else {
            context().raiseError(new IllegalStateException("raised later"));
        }
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ConductSourceTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        conduct.at("taskConfigs", maxTasks);
        noteLoaders("taskConfigs", config);
        int count = reconfigured ? Integer.parseInt(config.getOrDefault("tasks.then", "1")) : maxTasks;
        List<Map<String, String>> tasks = new ArrayList<>();
        switch (config.getOrDefault("tasks.made", "")) {
            case "null":
                return null;
            case "hole":
                tasks.add(null);
                return tasks;
            case "":
                break;
            default:
                count = Integer.parseInt(config.get("tasks.made"));
        }
        for (int i = 0; i < count; i++) {
            Map<String, String> task = new HashMap<>(config);
            task.put("task", Integer.toString(i));
            tasks.add(task);
        }
        return tasks;
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> props) {
        String said = props.getOrDefault("exactly.once", "SUPPORTED");
        return said.equals("null") ? null : ExactlyOnceSupport.valueOf(said);
    }

    @Override
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> props) {
        return Integer.parseInt(props.getOrDefault("transaction.every", "0")) > 0
            ? ConnectorTransactionBoundaries.SUPPORTED
            : ConnectorTransactionBoundaries.UNSUPPORTED;
    }

    @Override
    public boolean alterOffsets(Map<String, String> props, Map<Map<String, ?>, Map<String, ?>> offsets) {
        new Conduct(props).at("alterOffsets", offsets);
        return true;
    }

    @Override
    public void stop() {
        if (thread != null) {
            thread.interrupt();
        }
        conduct.at("connector.stop");
    }
}
