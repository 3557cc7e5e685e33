package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** What the other side calls of a sink task, which is one object of its session. */
public final class SinkMethods {
    private SinkMethods() {}

    public static void register(Map<String, Method> methods) {
        methods.put("sink.create", SinkMethods::create);
        methods.put("sink.start", (session, args, payload) -> task(session).start());
        methods.put("sink.open", (session, args, payload) -> task(session).open(Partitions.all(args.get("partitions"))));
        methods.put("sink.close", (session, args, payload) -> task(session).close(Partitions.all(args.get("partitions"))));
        methods.put("sink.put", (session, args, payload) -> task(session).put(records(session, args, payload)));
        methods.put("sink.commit", (session, args, payload) -> task(session).preCommit(Partitions.offsets(args.get("offsets"))));
        methods.put("sink.stop", (session, args, payload) -> task(session).stop());
    }

    private static ConnectRecord<?>[] records(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        return args.has("input") ? Batches.of(session).input(args, payload).records() : new ConnectRecord<?>[0];
    }

    private static Reply create(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        holder(session).task = new HostedSink(session, args);
        return Reply.NONE;
    }

    private static final class Holder {
        HostedSink task;
    }

    private static Holder holder(Session session) {
        return session.state(Holder.class, Holder::new);
    }

    private static HostedSink task(Session session) {
        HostedSink task = holder(session).task;
        if (task == null) {
            throw new IllegalStateException("The session has no sink task");
        }
        return task;
    }
}
