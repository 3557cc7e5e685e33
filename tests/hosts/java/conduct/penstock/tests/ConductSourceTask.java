package penstock.tests;

import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.TransactionContext;

import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Produces the numbers from 0 on, as text, with the number as key; the offset is the next number. */
public class ConductSourceTask extends SourceTask {
    private Conduct conduct = new Conduct(Map.of());
    private String topic;
    /** The partition of all records, where there are {@code partitions}; -1 for all of them. */
    private int only;
    private Map<String, String> partition;
    private long next;
    private long records;
    private int batch;
    private int partitions;
    private int every;
    private boolean odd;
    private String nulls;
    private boolean copies;
    private long abortAt;
    private volatile boolean stopping;

    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public void start(Map<String, String> props) {
        conduct = new Conduct(props);
        topic = props.get("topic");
        partition = Map.of("task", props.get("task"));
        records = Long.parseLong(props.getOrDefault("records", "100"));
        batch = Integer.parseInt(props.getOrDefault("batch", "10"));
        partitions = Integer.parseInt(props.getOrDefault("partitions", "-1"));
        only = Integer.parseInt(props.getOrDefault("partition", "-1"));
        odd = Boolean.parseBoolean(props.get("odd.offsets"));
        nulls = props.getOrDefault("null", "");
        every = Integer.parseInt(props.getOrDefault("transaction.every", "0"));
        copies = Boolean.parseBoolean(props.get("transaction.copies"));
        abortAt = Long.parseLong(props.getOrDefault("abort.at", "-1"));
        Map<String, Object> offset = context.offsetStorageReader().offset("partition".equals(nulls) ? null : partition);
        next = offset == null ? 0 : (Long) offset.get("next");
        Lag.register(props.get("topic"), props.get("task"));
        if (props.containsKey("driver.of")) {
            conduct.note("driver", driverOf(props.get("driver.of")));
        }
        conduct.at("start", "from " + next + " in " + Thread.currentThread().getName());
    }

    /** The class of the driver for this address. Another location has used drivers before. */
    private static String driverOf(String url) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
        try {
            return DriverManager.getDriver(url).getClass().getName();
        } catch (SQLException e) {
            return e.getMessage();
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        conduct.at("poll", next);
        if (next >= records) {
            Thread.sleep(100);
            return null;
        }
        List<SourceRecord> polled = new ArrayList<>();
        for (int i = 0; i < batch && next < records; i++) {
            String text = Long.toString(next);
            Integer kafkaPartition = partitions < 0 ? null : only >= 0 ? only : (int) (next % partitions);
            next++;
            Map<String, ?> offset = odd ? Map.of("next", new Object()) : Map.of("next", next);
            SourceRecord made = new SourceRecord(
                nulls.equals("partition") ? null : partition, nulls.equals("offset") ? null : offset,
                nulls.equals("topic") ? null : topic, kafkaPartition,
                Schema.STRING_SCHEMA, text, Schema.STRING_SCHEMA, text);
            bound(copies ? copy(made) : made);
            polled.add(made);
        }
        return polled;
    }

    private static SourceRecord copy(SourceRecord made) {
        return made.newRecord(made.topic(), made.kafkaPartition(), made.keySchema(), made.key(), made.valueSchema(),
            made.value(), made.timestamp());
    }

    private void bound(SourceRecord made) {
        TransactionContext transactions = context.transactionContext();
        if (transactions == null || every == 0) {
            return;
        }
        if (next - 1 == abortAt) {
            abortAt = -1;
            conduct.note("abort", next - 1);
            transactions.abortTransaction(made);
        } else if (next % every == 0 || next == records) {
            transactions.commitTransaction(made);
        }
    }

    @Override
    public void commit() {
        conduct.at("commit");
    }

    @Override
    public void commitRecord(SourceRecord made, RecordMetadata metadata) {
        String where = metadata == null ? "nowhere" : metadata.topic() + "-" + metadata.partition() + "@" + metadata.offset();
        conduct.at("commitRecord", made.value() + " " + where);
    }

    @Override
    public void stop() {
        stopping = true;
        conduct.at("stop");
    }
}
