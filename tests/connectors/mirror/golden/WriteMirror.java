package org.apache.kafka.connect.mirror;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;

import java.util.*;

/**
 * Writes what Kafka's own mirror classes make of some cases; mirror.txt is what it wrote, fields separated by tabs.
 *
 *     javac -cp 'libs/*' -d out WriteMirror.java
 *     java -cp 'out:libs/*' org.apache.kafka.connect.mirror.WriteMirror > mirror.txt
 */
public class WriteMirror {
    private static void line(Object... fields) {
        List<String> texts = new ArrayList<>();
        for (Object field : fields) texts.add(field instanceof byte[] b ? HexFormat.of().formatHex(b) : String.valueOf(field));
        System.out.println(String.join("\t", texts));
    }

    public static void main(String[] args) {
        formats();
        settings("source", MirrorSourceConfig.CONNECTOR_CONFIG_DEF);
        settings("checkpoint", MirrorCheckpointConfig.CONNECTOR_CONFIG_DEF);
        settings("heartbeat", MirrorHeartbeatConfig.CONNECTOR_CONFIG_DEF);
        policies();
        progress();
        translation();
    }

    private static void formats() {
        Object[][] syncs = {{"t", 0, 0L, 0L}, {"topic-1", 7, 123456789012L, 42L}, {"häß€𝄞", Integer.MAX_VALUE, Long.MAX_VALUE, -1L}, {"", 0, 1L, 2L}};
        for (Object[] c : syncs) {
            OffsetSync s = new OffsetSync(new TopicPartition((String) c[0], (int) c[1]), (long) c[2], (long) c[3]);
            line("sync", c[0], c[1], c[2], c[3], s.recordKey(), s.recordValue());
        }
        Object[][] checkpoints = {{"g", "t", 0, 1L, 2L, ""}, {"gruppe ä", "a.topic", 3, 99999999999L, 7L, "meta ü"}};
        for (Object[] c : checkpoints) {
            Checkpoint p = new Checkpoint((String) c[0], new TopicPartition((String) c[1], (int) c[2]), (long) c[3], (long) c[4], (String) c[5]);
            line("checkpoint", c[0], c[1], c[2], c[3], c[4], c[5], p.recordKey(), p.recordValue(), p.connectPartition());
        }
        Heartbeat h = new Heartbeat("a", "b-ü", 1700000000123L);
        line("heartbeat", "a", "b-ü", 1700000000123L, h.recordKey(), h.recordValue(), h.connectPartition());
        line("partition", "src", "t", 1, MirrorUtils.wrapPartition(new TopicPartition("t", 1), "src"));
    }

    private static void settings(String kind, ConfigDef config) {
        for (ConfigDef.ConfigKey k : config.configKeys().values()) {
            boolean described = k.validator instanceof ConfigDef.Range || k.validator instanceof ConfigDef.ValidString
                || k.validator instanceof ConfigDef.CaseInsensitiveValidString || k.validator instanceof ConfigDef.ValidList;
            String shown = k.hasDefault() ? ConfigDef.convertToString(k.defaultValue, k.type) : "!";
            line("setting", kind, k.name, k.type, k.importance, shown, described ? k.validator.getClass().getSimpleName() + " " + k.validator : "-");
        }
    }

    private static void policies() {
        String[][] all = {{".", "true"}, {"_", "true"}, {"_", "false"}, {"", "true"}, {"--", "true"}};
        List<String> topics = List.of("t", "a.t", "a.b.t", "src.heartbeats", "heartbeats", "a_t", "a--t", "a---t", "x.checkpoints.internal",
            "x_checkpoints_internal", "mm2-x.internal", "mm2_internal", "__c", ".", "a.", "..", ".t", "a..t", "a-internal", "a_internal", "src.x.heartbeats");
        for (String[] c : all)
            for (ReplicationPolicy p : List.of(new DefaultReplicationPolicy(), new IdentityReplicationPolicy())) {
                Map<String, String> config = Map.of("replication.policy.separator", c[0], "source.cluster.alias", "src",
                    "replication.policy.internal.topic.separator.enabled", c[1]);
                ((Configurable) p).configure(config);
                String name = p.getClass().getSimpleName();
                line("policy", name, c[0], c[1], p.offsetSyncsTopic("x"), p.checkpointsTopic("x"), p.heartbeatsTopic());
                for (String t : topics)
                    line("topic", name, c[0], c[1], t, p.formatRemoteTopic("src", t), p.topicSource(t), p.upstreamTopic(t),
                        p.originalTopic(t), p.isHeartbeatsTopic(t), p.isCheckpointsTopic(t), p.isInternalTopic(t));
            }
    }

    private static void progress() {
        Random random = new Random(1);
        for (long lag : new long[] {0, 1, 5, 100}) {
            OffsetSyncWriter.PartitionState state = new OffsetSyncWriter.PartitionState(lag);
            long up = 0, down = 0;
            for (int i = 0; i < 40; i++) {
                boolean due = state.update(up, down);
                if (due) state.reset();
                line("progress", lag, up, down, due);
                up += random.nextInt(6) == 0 ? 1 + random.nextInt(4) : 1;
                down = random.nextInt(15) == 0 ? down / 2 : down + 1 + (random.nextInt(8) == 0 ? random.nextInt(20) : 0);
            }
        }
    }

    private static final class Store extends OffsetSyncStore {
        @Override void backingStoreStart() { }
        void sync(long up, long down) {
            OffsetSync s = new OffsetSync(new TopicPartition("t", 0), up, down);
            handleRecord(new ConsumerRecord<>("syncs", 0, 0, s.recordKey(), s.recordValue()));
        }
    }

    private static void translation() {
        Random random = new Random(2);
        for (int run = 0; run < 6; run++) {
            boolean mustReadToEnd = run % 2 == 0;
            Store store = new Store();
            store.initializationMustReadToEnd = mustReadToEnd;
            line("translation", mustReadToEnd);
            long up = 0, down = 0;
            int before = random.nextInt(30);
            for (int i = 0; i < 200; i++) {
                if (i == before) {
                    store.start(mustReadToEnd);
                    line("end");
                }
                long step = 1 + (random.nextInt(3) == 0 ? 0 : random.nextInt(1 << random.nextInt(12)));
                up = random.nextInt(90) == 0 ? up / 2 : up + step;
                down += 1 + (long) (random.nextDouble() * step);
                store.sync(up, down);
                line("add", up, down);
                if (i % 20 == 19)
                    for (int j = 0; j < 12; j++) {
                        long asked = j < 3 ? up + j - 1 : (long) (random.nextDouble() * up);
                        OptionalLong answer = store.translateDownstream("g", new TopicPartition("t", 0), asked);
                        line("ask", asked, answer.isPresent() ? answer.getAsLong() : "null");
                    }
            }
        }
    }
}
