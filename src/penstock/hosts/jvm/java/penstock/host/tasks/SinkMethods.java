package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import penstock.host.Method;
import penstock.host.Reply;
import penstock.host.Session;

/** Requests to the sink task of a session. */
public final class SinkMethods {
    private SinkMethods() {}

    public static void register(Map<String, Method> methods) {
        methods.put("sink.create", SinkMethods::create);
        methods.put("sink.start", (session, args, payload) -> task(session).start(session));
        methods.put("sink.open", (session, args, payload) -> task(session).open(Partitions.all(args.get("partitions"))));
        methods.put("sink.close", (session, args, payload) -> task(session).close(Partitions.all(args.get("partitions"))));
        methods.put("sink.put", SinkMethods::put);
        methods.put("sink.commit", (session, args, payload) -> task(session).preCommit(Partitions.offsets(args.get("offsets"))));
        methods.put("sink.stop", (session, args, payload) -> task(session).stop());
    }

    /**
     * With {@code convert} the records are as they were read, and converted first: none is put if that fails for one.
     * With {@code behind} none is put unless the task has taken those of the put before this, and asked for nothing.
     * The reply has the seconds that both have taken, and after a failed put the batch that has been converted.
     */
    private static Reply put(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        Batches batches = Batches.of(session);
        HostedSink task = task(session);
        if (args.path("behind").asBoolean() && !task.isClear()) {
            batches.forgo(args);
            return Reply.of(Map.of("type", "skipped"));
        }
        // Whatever ends this put before the task has its records.
        task.notPut();
        boolean raw = args.hasNonNull("convert");
        long began = System.nanoTime();
        ConnectRecord<?>[] records = new ConnectRecord<?>[0];
        if (!args.has("input")) {
            batches.free(args);
        } else if (!raw) {
            records = batches.input(args, payload).records();
        } else {
            try {
                records = batches.converted(args, payload, new RawConverters(session, args.get("convert")));
            } catch (Throwable e) {
                return Reply.of(Map.of("type", "unconverted"));
            }
        }
        long made = System.nanoTime();
        Map<String, Object> reply = task.put(records);
        reply.put("type", "done");
        reply.put("converting", (made - began) / 1e9);
        reply.put("putting", (System.nanoTime() - made) / 1e9);
        if (raw && reply.containsKey("failure")) {
            reply.put("records", batches.described(records, false, false, false));
        }
        return Reply.of(reply);
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
