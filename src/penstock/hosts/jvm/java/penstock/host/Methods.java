package penstock.host;

import java.util.HashMap;
import java.util.Map;
import penstock.host.plugins.ConnectorMethods;
import penstock.host.plugins.DefinitionMethods;
import penstock.host.plugins.PolicyMethods;
import penstock.host.plugins.ProviderMethods;
import penstock.host.tasks.Batches;
import penstock.host.tasks.SinkMethods;
import penstock.host.tasks.SourceTasks;
import penstock.host.tasks.Steps;

/** The methods that answer the messages to this JVM, by message. */
final class Methods {
    static final Map<String, Method> ALL = all();

    private Methods() {}

    private static Map<String, Method> all() {
        Map<String, Method> methods = new HashMap<>();
        HostMethods.register(methods);
        ConnectorMethods.register(methods);
        DefinitionMethods.register(methods);
        ProviderMethods.register(methods);
        PolicyMethods.register(methods);
        Batches.register(methods);
        Steps.register(methods);
        SourceTasks.register(methods);
        SinkMethods.register(methods);
        SessionMetrics.register(methods);
        methods.forEach((type, method) -> {
            if (!Messages.RECEIVED.containsKey(type)) {
                throw new IllegalStateException("There is no message " + type);
            }
        });
        return methods;
    }
}
