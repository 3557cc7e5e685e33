package penstock.tests.everything;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The same records at every start: all types of Connect, keys, headers, timestamps, tombstones. */
public final class EverythingSource extends SourceConnector {
    private Map<String, String> config = Map.of();

    @Override
    public String version() {
        return "1";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define("topic", Type.STRING, Importance.HIGH, "Where to.")
            .define("records", Type.INT, 120, Importance.LOW, "How many.")
            .define("only", Type.STRING, "both", Importance.LOW, "structs, plain or both.");
    }

    @Override
    public void start(Map<String, String> props) {
        config = props;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return EverythingTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(config);
    }

    @Override
    public void stop() {
    }

    /** Its offset is the number of the next record, among offsets of other types. */
    public static final class EverythingTask extends SourceTask {
        private static final Schema KEY = SchemaBuilder.struct().name("penstock.Key")
            .field("id", Schema.INT32_SCHEMA).field("part", Schema.OPTIONAL_STRING_SCHEMA).build();
        private static final Map<String, Object> PARTITION = Map.of("source", "everything", "number", 5L);
        private String topic;
        private String only;
        private int records;
        private int next;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> props) {
            topic = props.get("topic");
            only = props.getOrDefault("only", "both");
            records = Integer.parseInt(props.getOrDefault("records", "120"));
            Map<String, Object> offset = context.offsetStorageReader().offset(PARTITION);
            next = offset == null ? 0 : ((Long) offset.get("next")).intValue();
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            if (next >= records) {
                Thread.sleep(100);
                return null;
            }
            List<SourceRecord> polled = new ArrayList<>();
            for (int n = 0; n < 17 && next < records; n++) {
                polled.add(made(next++));
            }
            return polled;
        }

        private SourceRecord made(int i) {
            Map<String, Object> offset = new LinkedHashMap<>();
            offset.put("next", (long) next);
            offset.put("text", "o" + i);
            offset.put("flag", true);
            offset.put("none", null);
            offset.put("ratio", i / 8.0);
            boolean struct = only.equals("structs") || only.equals("both") && i % 2 == 0;
            SchemaAndValue value = struct ? new SchemaAndValue(Values.ALL, Values.all(i)) : Values.plain(i / 2);
            Struct key = new Struct(KEY).put("id", i).put("part", i % 3 == 0 ? null : "p");
            ConnectHeaders headers = new ConnectHeaders();
            if (i % 2 == 1) {
                headers.addInt("number", i).addString("text", "h" + i).addString("text", "again");
                headers.add("schemaless", new SchemaAndValue(null, "s"));
            }
            if (i % 4 == 1) {
                headers.addStruct("inner", new Struct(Values.INNER).put("text", "in a header"));
            }
            Long time = i % 5 == 0 ? null : 1_700_000_000_000L + i;
            return new SourceRecord(PARTITION, offset, topic, 0, i % 7 == 3 ? null : KEY, i % 7 == 3 ? null : key,
                value.schema(), value.value(), time, headers);
        }

        @Override
        public void stop() {
        }
    }
}
