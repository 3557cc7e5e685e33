package penstock.tests;

import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.source.SourceRecord;

/** One that overrides {@code commitRecord}, and does nothing there. */
public final class QuietSourceTask extends ConductSourceTask {
    @Override
    public void commitRecord(SourceRecord made, RecordMetadata metadata) {
        // nothing
    }
}
