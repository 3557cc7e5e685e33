package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Partitions and offsets as they cross: {@code [topic, partition, offset, metadata, leader epoch or null]}. */
final class Partitions {
    private Partitions() {}

    static List<Object> name(TopicPartition partition) {
        return List.of(partition.topic(), partition.partition());
    }

    static TopicPartition of(JsonNode row) {
        return new TopicPartition(row.get(0).asText(), row.get(1).asInt());
    }

    static List<TopicPartition> all(JsonNode rows) {
        List<TopicPartition> partitions = new ArrayList<>();
        rows.forEach(row -> partitions.add(of(row)));
        return partitions;
    }

    static Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode rows) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
        rows.forEach(row -> offsets.put(of(row), new OffsetAndMetadata(row.get(2).asLong())));
        return offsets;
    }

    /** An offset with what is kept beside it; null if it has none. */
    static OffsetAndMetadata offset(JsonNode row) {
        if (row.get(2).isNull()) {
            return null;
        }
        Optional<Integer> epoch = row.get(4).isNull() ? Optional.empty() : Optional.of(row.get(4).asInt());
        return new OffsetAndMetadata(row.get(2).asLong(), epoch, row.get(3).asText());
    }

    /** Return offsets as rows, null for null: a task that returns no map, or no offset, fails the task, not the method. */
    static List<Object> rows(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (offsets == null) {
            return null;
        }
        List<Object> rows = new ArrayList<>();
        offsets.forEach((partition, offset) -> rows.add(Arrays.asList(name(partition), kept(offset))));
        return rows;
    }

    private static List<Object> kept(OffsetAndMetadata offset) {
        return offset == null ? null
            : Arrays.asList(offset.offset(), offset.metadata(), offset.leaderEpoch().orElse(null));
    }
}
