package penstock.host.plugins;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.ConnectorContext;
import org.apache.kafka.connect.sink.SinkConnectorContext;
import org.apache.kafka.connect.source.SourceConnectorContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import penstock.host.Failures;
import penstock.host.Host;
import penstock.host.Json;
import penstock.host.Session;
import penstock.host.SessionMetrics;

/** What connectors get from the worker. */
final class Contexts {
    private Contexts() {}

    private abstract static class Common implements ConnectorContext {
        final Session session;
        private final PluginMetrics metrics;

        Common(Session session, String name) {
            this.session = session;
            this.metrics = SessionMetrics.ofConnector(session, name);
        }

        @Override
        public void requestTaskReconfiguration() {
            session.tell("connector.reconfigure", Map.of());
        }

        @Override
        public void raiseError(Exception error) {
            session.tell("connector.raise", Failures.document(error));
        }

        @Override
        public PluginMetrics pluginMetrics() {
            return metrics;
        }
    }

    static final class Sink extends Common implements SinkConnectorContext {
        Sink(Session session, String name) {
            super(session, name);
        }
    }

    static final class Source extends Common implements SourceConnectorContext {
        Source(Session session, String name) {
            super(session, name);
        }

        @Override
        public OffsetStorageReader offsetStorageReader() {
            return new Offsets(session);
        }
    }

    /** Reads committed offsets, up to the end of their topic each time. */
    private record Offsets(Session session) implements OffsetStorageReader {
        @Override
        public <T> Map<String, Object> offset(Map<String, T> partition) {
            return offsets(Collections.singletonList(partition)).get(partition);
        }

        @Override
        public <T> Map<Map<String, T>, Map<String, Object>> offsets(Collection<Map<String, T>> partitions) {
            List<Map<String, T>> asked = new ArrayList<>(partitions);
            JsonNode answers = Host.JSON.valueToTree(session.call("connector.offsets", asked).result());
            Map<Map<String, T>, Map<String, Object>> found = new HashMap<>();
            for (int i = 0; i < asked.size(); i++) {
                found.put(asked.get(i), Json.offset(answers.get(i)));
            }
            return found;
        }
    }
}
