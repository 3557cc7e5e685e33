package penstock.tests.calls;

import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Returns three records per poll while the order is "busy" or "filtering". */
public final class ProbeSourceTask extends SourceTask {
    private static final int RECORDS = 3;
    private CallLog calls;
    private String topic;
    private long next;

    @Override
    public String version() {
        return "1";
    }

    @Override
    public void start(Map<String, String> props) {
        calls = new CallLog(props, "task", this);
        topic = props.get("topic");
        calls.note("start", props.size());
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        Thread.sleep(50);
        String order = calls.order();
        switch (order) {
            case "retrying":
                calls.note("poll that raises", 0);
                throw new RetriableException("not now");
            case "failing":
                calls.note("poll that raises", 0);
                throw new ConnectException("broken");
            case "busy":
            case "filtering":
                return some(order);
            default:
                calls.note("poll without records", 0);
                return null;
        }
    }

    private List<SourceRecord> some(String value) {
        List<SourceRecord> records = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            next++;
            records.add(new SourceRecord(Map.of("part", "a"), Map.of("at", next), topic, null, Schema.STRING_SCHEMA, value));
        }
        calls.note("poll with records", RECORDS);
        if (context.transactionContext() != null && next % (2 * RECORDS) == 0) {
            context.transactionContext().commitTransaction();
        }
        return records;
    }

    @Override
    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        calls.note(metadata == null ? "commit_record of a dropped record" : "commit_record", 1);
    }

    @Override
    public void commit() {
        calls.note("commit", 0);
    }

    @Override
    public void stop() {
        calls.note("stop", 0);
    }
}
