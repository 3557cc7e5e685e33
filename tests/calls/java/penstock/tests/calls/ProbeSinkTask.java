package penstock.tests.calls;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

import java.util.Collection;
import java.util.Map;

/** Refuses records while the order is "retrying" or "failing". */
public final class ProbeSinkTask extends SinkTask {
    private CallLog calls;

    @Override
    public String version() {
        return "1";
    }

    @Override
    public void start(Map<String, String> props) {
        calls = new CallLog(props, "task", this);
        calls.note("start", props.size());
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        calls.note("open", partitions.size());
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        String order = calls.order();
        if (records.isEmpty()) {
            calls.note("put without records", 0);
        } else if (order.equals("retrying")) {
            calls.note("put that raises", records.size());
            context.timeout(100);
            throw new RetriableException("not now");
        } else if (order.equals("failing")) {
            calls.note("put that raises", records.size());
            throw new ConnectException("broken");
        } else {
            calls.note("put with records", records.size());
        }
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        calls.note("pre_commit", offsets.size());
        return super.preCommit(offsets);
    }

    @Override
    public void flush(Map<TopicPartition, OffsetAndMetadata> offsets) {
        calls.note("flush", offsets.size());
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        calls.note("close", partitions.size());
    }

    @Override
    public void stop() {
        calls.note("stop", 0);
    }
}
