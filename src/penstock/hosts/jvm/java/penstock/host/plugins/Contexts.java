package penstock.host.plugins;

import java.util.Map;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.ConnectorContext;
import org.apache.kafka.connect.sink.SinkConnectorContext;
import org.apache.kafka.connect.source.SourceConnectorContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;
import penstock.host.Failures;
import penstock.host.Session;
import penstock.host.SessionMetrics;
import penstock.host.SourceOffsets;

/** Contexts of connectors. */
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
            session.tell("connector.raise", Map.of("error", Failures.document(error)));
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
            return new SourceOffsets(session);
        }
    }
}
