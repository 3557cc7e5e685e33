package penstock.host;

import java.util.HashMap;
import java.util.Map;

/** All methods that can be called, by subject. */
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
        return methods;
    }
}
