package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/** Reads committed offsets of source partitions for a connector or a task, up to the end of their topic each time. */
public record SourceOffsets(Session session) implements OffsetStorageReader {
    @Override
    public <T> Map<String, Object> offset(Map<String, T> partition) {
        return offsets(Collections.singletonList(partition)).get(partition);
    }

    @Override
    public <T> Map<Map<String, T>, Map<String, Object>> offsets(Collection<Map<String, T>> partitions) {
        List<Map<String, T>> asked = new ArrayList<>(partitions);
        JsonNode found = (JsonNode) session.call("offsets", Map.of("partitions", asked)).result();
        Map<Map<String, T>, Map<String, Object>> offsets = new HashMap<>();
        for (int i = 0; i < asked.size(); i++) {
            offsets.put(asked.get(i), Json.offset(found.get(i)));
        }
        return offsets;
    }
}
