package penstock.tests;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/** Writes down what it is given, and its place: {@code topic-partition@offset value}. */
public final class ConductSinkTask extends SinkTask {
    private final Map<TopicPartition, Long> first = new HashMap<>();
    private Conduct conduct = new Conduct(Map.of());
    private Map<String, String> config = Map.of();
    private long rewindAt;
    private long pausedUntil;

    @Override
    public String version() {
        return "1.2.3";
    }

    @Override
    public void start(Map<String, String> props) {
        config = props;
        conduct = new Conduct(props);
        rewindAt = Long.parseLong(props.getOrDefault("rewind.once.at", "-1"));
        conduct.at("start", "assigned " + context.assignment() + " in " + Thread.currentThread().getName());
        conduct.note("configs", new java.util.TreeMap<>(context.configs()).keySet());
    }

    @Override
    public void open(Collection<TopicPartition> partitions) {
        conduct.at("open", sorted(partitions) + " of " + sorted(context.assignment()));
    }

    @Override
    public void close(Collection<TopicPartition> partitions) {
        conduct.at("close", sorted(partitions));
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        if (config.containsKey("timeout.ms")) {
            context.timeout(Long.parseLong(config.get("timeout.ms")));
        }
        if (!records.isEmpty()) {
            conduct.at("put", records.size());
        } else {
            conduct.at("put.nothing");
        }
        resumed();
        for (SinkRecord each : records) {
            take(each);
        }
    }

    private void take(SinkRecord each) {
        TopicPartition partition = new TopicPartition(each.originalTopic(), each.originalKafkaPartition());
        first.putIfAbsent(partition, each.originalKafkaOffset());
        String value = String.valueOf(each.value());
        write(partition + "@" + each.originalKafkaOffset() + " " + value);
        if (value.equals(config.get("errant"))) {
            ErrantRecordReporter reporter = context.errantRecordReporter();
            conduct.note("reporter", reporter == null ? "none" : "there");
            if (reporter != null) {
                report(reporter, Boolean.parseBoolean(config.get("errant.own")) ? madeOf(each) : each, value);
            }
        }
        if (value.equals(config.get("seek.at"))) {
            TopicPartition where = new TopicPartition(each.topic(), Integer.parseInt(config.get("seek.in")));
            HashMap<TopicPartition, Long> offsets = new HashMap<>();
            offsets.put(where, config.get("seek.to") == null ? null : Long.valueOf(config.get("seek.to")));
            context.offset(offsets);
        }
        if (value.equals(config.get("commit.at"))) {
            context.requestCommit();
        }
        if (value.equals(config.get("pause.at")) && pausedUntil == 0) {
            pausedUntil = System.currentTimeMillis() + 1000;
            context.pause(context.assignment().toArray(new TopicPartition[0]));
        }
        if (each.originalKafkaOffset() == rewindAt) {
            rewindAt = -1;
            context.offset(partition, first.get(partition));
        }
        if ("internals".equals(value)) {
            Internals.note(each, context, conduct);
        }
    }

    private static SinkRecord madeOf(SinkRecord each) {
        return new SinkRecord(each.topic(), each.kafkaPartition(), each.keySchema(), each.key(), each.valueSchema(),
            each.value(), each.kafkaOffset(), each.timestamp(), each.timestampType());
    }

    private void report(ErrantRecordReporter reporter, SinkRecord each, String value) {
        try {
            reporter.report(each, new IllegalArgumentException("I do not like " + value));
        } catch (RuntimeException e) {
            if (!config.containsKey("swallow")) {
                throw e;
            }
        }
    }

    private void resumed() {
        if (pausedUntil > 0 && System.currentTimeMillis() >= pausedUntil) {
            conduct.note("resume", "");
            pausedUntil = -1;
            context.resume(context.assignment().toArray(new TopicPartition[0]));
        }
    }

    private void write(String line) {
        if (config.get("file") == null) {
            return;
        }
        try {
            Files.writeString(Path.of(config.get("file")), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void flush(Map<TopicPartition, OffsetAndMetadata> offsets) {
        conduct.at("flush", offsets);
    }

    @Override
    public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        flush(offsets);
        if (Boolean.parseBoolean(config.get("commit.null"))) {
            return null;
        }
        if (Boolean.parseBoolean(config.get("commit.null.offset"))) {
            offsets.replaceAll((partition, each) -> null);
        }
        String metadata = config.get("commit.metadata");
        if (metadata != null) {
            offsets.replaceAll((partition, each) -> new OffsetAndMetadata(each.offset(), Optional.of(0), metadata));
        }
        return Boolean.parseBoolean(config.getOrDefault("flush.commits", "true")) ? offsets : Map.of();
    }

    @Override
    public void stop() {
        conduct.at("stop");
    }

    private static Collection<String> sorted(Collection<TopicPartition> partitions) {
        TreeSet<String> names = new TreeSet<>();
        for (TopicPartition each : partitions) {
            names.add(each.toString());
        }
        return names;
    }
}
