package org.apache.kafka.connect.runtime;

import java.lang.reflect.Constructor;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.runtime.errors.WorkerErrantRecordReporter;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.util.ConnectorTaskId;
import sun.reflect.ReflectionFactory;

/**
 * What a {@link WorkerSinkTaskContext} asks of its task. Plugins look into contexts of just that class.
 *
 * <p>It is in this package since {@code WorkerSinkTask} is visible here alone; and it is made without a constructor of
 * that class, whose loop it never runs.
 */
public final class HostedSinkTask extends WorkerSinkTask {
    private ConnectorTaskId task;
    private WorkerErrantRecordReporter reporter;
    private PluginMetrics metrics;

    private HostedSinkTask() {
        super(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
    }

    /** A context that gives this configuration and reporter, which may be null, and keeps what its task asks for. */
    public static WorkerSinkTaskContext context(
        ConnectorTaskId id,
        Map<String, String> config,
        Consumer<byte[], byte[]> consumer,
        WorkerErrantRecordReporter reporter,
        PluginMetrics metrics
    ) throws ReflectiveOperationException {
        Constructor<?> empty = ReflectionFactory.getReflectionFactory()
            .newConstructorForSerialization(HostedSinkTask.class, Object.class.getDeclaredConstructor());
        HostedSinkTask made = (HostedSinkTask) empty.newInstance();
        made.task = id;
        made.reporter = reporter;
        made.metrics = metrics;
        return new WorkerSinkTaskContext(consumer, made, state(id, config));
    }

    private static ClusterConfigState state(ConnectorTaskId id, Map<String, String> config) {
        return new ClusterConfigState(0, null, Map.of(), Map.of(), Map.of(), new HashMap<>(Map.of(id, config)), Map.of(),
            Map.of(), Map.of(), Set.of(), Set.of());
    }

    @Override
    public ConnectorTaskId id() {
        return task;
    }

    @Override
    public boolean shouldPause() {
        return false; // pauses are kept, and carried out where the consumer is
    }

    @Override
    protected WorkerErrantRecordReporter workerErrantRecordReporter() {
        return reporter;
    }

    @Override
    public PluginMetrics pluginMetrics() {
        return metrics;
    }

    @Override
    public String toString() {
        return "WorkerSinkTask{id=" + task + "}";
    }
}
