package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.runtime.isolation.LoaderSwap;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import penstock.host.Host;
import penstock.host.Session;
import penstock.host.plugins.JdbcDrivers;
import penstock.host.plugins.PluginObjects;

/** Objects of task classes, and what all tasks are given. */
final class TaskObjects {
    private TaskObjects() {}

    /** The task of class {@code task} of the connector {@code connector} in version {@code connector_version}. */
    static Task create(JsonNode args) throws Exception {
        Plugins plugins = Host.plugins();
        ClassLoader loader = plugins.connectorLoader(
            args.get("connector").asText(), PluginObjects.version(args.get("connector_version")));
        JdbcDrivers.register(loader);
        try (LoaderSwap swap = plugins.withClassLoader(loader)) {
            return plugins.newTask(loader.loadClass(args.get("task").asText()).asSubclass(Task.class));
        }
    }
}
