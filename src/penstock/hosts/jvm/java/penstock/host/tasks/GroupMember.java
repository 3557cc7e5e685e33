package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import penstock.host.Session;

/**
 * The consumer of a sink task, as far as plugins use it: what they ask is answered by the member of the group, which is
 * on the other side; where they want to read is kept until the end of the current call.
 */
final class GroupMember implements InvocationHandler {
    private final Session session;
    private final Set<TopicPartition> assignment = new HashSet<>();
    private final Set<TopicPartition> paused = new HashSet<>();
    private final Map<TopicPartition, Long> seeks = new LinkedHashMap<>();
    private final List<Map<String, Object>> flow = new ArrayList<>();

    GroupMember(Session session) {
        this.session = session;
    }

    @SuppressWarnings("unchecked")
    Consumer<byte[], byte[]> consumer() {
        return (Consumer<byte[], byte[]>) Proxy.newProxyInstance(
            Consumer.class.getClassLoader(), new Class<?>[] {Consumer.class}, this);
    }

    synchronized void assign(Collection<TopicPartition> partitions) {
        assignment.addAll(partitions);
    }

    synchronized void revoke(Collection<TopicPartition> partitions) {
        assignment.removeAll(partitions);
        paused.removeAll(partitions);
    }

    /** Return where to read from, as asked for since the last call. */
    synchronized Map<TopicPartition, Long> takeSeeks() {
        Map<TopicPartition, Long> taken = new LinkedHashMap<>(seeks);
        seeks.clear();
        return taken;
    }

    /** Pauses and resumptions since the last call, in order. */
    synchronized List<Map<String, Object>> takeFlow() {
        List<Map<String, Object>> taken = new ArrayList<>(flow);
        flow.clear();
        return taken;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] args) {
        return switch (method.getName()) {
            case "assignment" -> assignment();
            case "paused" -> paused();
            case "subscription" -> topics();
            case "pause" -> flow("pause", (Collection<?>) args[0]);
            case "resume" -> flow("resume", (Collection<?>) args[0]);
            case "seek" -> seek((TopicPartition) args[0], args[1]);
            case "seekToBeginning" -> seekTo((Collection<?>) args[0], false);
            case "seekToEnd" -> seekTo((Collection<?>) args[0], true);
            case "beginningOffsets" -> ends((Collection<?>) args[0], false);
            case "endOffsets" -> ends((Collection<?>) args[0], true);
            case "partitionsFor" -> partitionsFor((String) args[0]);
            case "position" -> position((TopicPartition) args[0]);
            case "committed" -> committed((Set<?>) args[0]);
            case "groupMetadata" -> groupMetadata();
            case "toString" -> "Consumer of " + session.about().path("name").asText();
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == args[0];
            default -> throw new UnsupportedOperationException("The consumer of a sink task belongs to its worker, which does"
                + " not offer " + method.getName() + " to plugins");
        };
    }

    private synchronized Set<TopicPartition> assignment() {
        return Set.copyOf(assignment);
    }

    private synchronized Set<TopicPartition> paused() {
        return Set.copyOf(paused);
    }

    private synchronized Set<String> topics() {
        Set<String> topics = new HashSet<>();
        assignment.forEach(each -> topics.add(each.topic()));
        return topics;
    }

    private synchronized Object flow(String what, Collection<?> partitions) {
        List<Object> named = new ArrayList<>();
        for (Object each : partitions) {
            TopicPartition partition = assigned((TopicPartition) each);
            named.add(Partitions.name(partition));
            if (what.equals("pause")) {
                paused.add(partition);
            } else {
                paused.remove(partition);
            }
        }
        flow.add(Map.of("action", what, "partitions", named));
        return null;
    }

    synchronized Object seek(TopicPartition partition, Object to) {
        long offset = to instanceof OffsetAndMetadata known ? known.offset() : (Long) to;
        if (offset < 0) {
            throw new IllegalArgumentException("seek offset must not be a negative number");
        }
        seeks.put(assigned(partition), offset);
        return null;
    }

    /** Java's consumer seeks all that it has if none is named. */
    private Object seekTo(Collection<?> partitions, boolean last) {
        Map<TopicPartition, Long> found = ends(partitions.isEmpty() ? assignment() : partitions, last);
        found.forEach(this::seek);
        return null;
    }

    private Map<TopicPartition, Long> ends(Collection<?> partitions, boolean last) {
        List<Object> named = new ArrayList<>();
        partitions.forEach(each -> named.add(Partitions.name((TopicPartition) each)));
        Map<TopicPartition, Long> found = new HashMap<>();
        JsonNode rows = (JsonNode) session.call("sink.ends", Map.of("partitions", named, "last", last)).result();
        rows.forEach(row -> found.put(Partitions.of(row), row.get(2).asLong()));
        return found;
    }

    private List<PartitionInfo> partitionsFor(String topic) {
        List<PartitionInfo> found = new ArrayList<>();
        for (JsonNode each : (JsonNode) session.call("sink.described", Map.of("topic", topic)).result()) {
            Node leader = each.get("leader").isNull() ? Node.noNode() : node(each.get("leader"));
            int number = each.get("partition").asInt();
            found.add(new PartitionInfo(topic, number, leader, nodes(each.get("replicas")), nodes(each.get("isrs"))));
        }
        return found;
    }

    private static Node[] nodes(JsonNode rows) {
        List<Node> found = new ArrayList<>();
        rows.forEach(row -> found.add(node(row)));
        return found.toArray(Node[]::new);
    }

    private static Node node(JsonNode row) {
        return new Node(row.get(0).asInt(), row.get(1).asText(), row.get(2).asInt());
    }

    private TopicPartition assigned(TopicPartition partition) {
        if (!assignment.contains(partition)) {
            throw new IllegalStateException("No current assignment for partition " + partition);
        }
        return partition;
    }

    private long position(TopicPartition partition) {
        synchronized (this) {
            if (!assignment.contains(partition)) {
                throw new IllegalStateException("You can only check the position for partitions assigned to this consumer.");
            }
            if (seeks.containsKey(partition)) {
                return seeks.get(partition);
            }
        }
        return ((JsonNode) session.call("sink.position", Map.of("partition", Partitions.name(partition))).result()).asLong();
    }

    private Map<TopicPartition, OffsetAndMetadata> committed(Set<?> partitions) {
        List<Object> named = new ArrayList<>();
        partitions.forEach(each -> named.add(Partitions.name((TopicPartition) each)));
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        for (JsonNode row : (JsonNode) session.call("sink.committed", Map.of("partitions", named)).result()) {
            found.put(Partitions.of(row), Partitions.offset(row));
        }
        return found;
    }

    private ConsumerGroupMetadata groupMetadata() {
        JsonNode said = (JsonNode) session.call("sink.group", Map.of()).result();
        Optional<String> instance = Optional.ofNullable(said.get("instance").asText(null));
        return new ConsumerGroupMetadata(
            said.get("group").asText(), said.get("generation").asInt(), said.get("member").asText(), instance);
    }
}
