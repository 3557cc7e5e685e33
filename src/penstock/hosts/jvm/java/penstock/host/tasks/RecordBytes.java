package penstock.host.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import penstock.host.Reply;
import penstock.host.Session;
import penstock.host.columns.ColumnWriter;
import penstock.host.columns.Out;
import penstock.host.columns.SchemaTable;

/**
 * Keys, values and headers of records as bytes in one go, by converters of Kafka's own: none of them looks at what
 * another one has made, and each makes the same of the same.
 */
final class RecordBytes {
    private RecordBytes() {}

    /** {@code steps}: the numbers of the converters, as {@code key}, {@code value} and {@code header}. */
    static Reply of(Session session, JsonNode args, ByteBuffer payload) throws Exception {
        JsonNode steps = args.get("steps");
        Converter key = (Converter) Steps.plugin(session, steps.get("key").asInt());
        Converter value = (Converter) Steps.plugin(session, steps.get("value").asInt());
        HeaderConverter header = (HeaderConverter) Steps.plugin(session, steps.get("header").asInt());
        ConnectRecord<?>[] records = Batches.of(session).input(args, payload).records();
        byte[][] keys = new byte[records.length][];
        byte[][] values = new byte[records.length][];
        for (int i = 0; i < records.length; i++) {
            ConnectRecord<?> each = records[i];
            keys[i] = key.fromConnectData(each.topic(), each.keySchema(), each.key());
            values[i] = value.fromConnectData(each.topic(), each.valueSchema(), each.value());
        }
        Out out = new Out();
        ColumnWriter writer = new ColumnWriter(out, SchemaTable.of(session));
        writer.column(keys);
        writer.column(values);
        headers(header, records, writer);
        return Reply.of(null, out.done());
    }

    /** Write the lengths of runs of records with the same headers, and of each run its headers: number, names, bytes. */
    private static void headers(HeaderConverter converter, ConnectRecord<?>[] records, ColumnWriter writer) {
        List<Object> runs = new ArrayList<>();
        List<Object> counts = new ArrayList<>();
        List<Object> names = new ArrayList<>();
        List<Object> values = new ArrayList<>();
        int start = 0;
        for (int i = 1; i <= records.length; i++) {
            if (i < records.length && alike(records[start], records[i])) {
                continue;
            }
            Headers first = records[start].headers();
            for (Header each : first) {
                names.add(each.key());
                values.add(converter.fromConnectHeader(records[start].topic(), each.key(), each.schema(), each.value()));
            }
            runs.add(i - start);
            counts.add(first.size());
            start = i;
        }
        writer.column(runs.toArray());
        writer.column(counts.toArray());
        writer.column(names.toArray());
        writer.column(values.toArray());
    }

    /** Return whether the headers of two records become the same bytes; false in doubt. */
    private static boolean alike(ConnectRecord<?> one, ConnectRecord<?> other) {
        if (one.headers().size() != other.headers().size() || !Objects.equals(one.topic(), other.topic())) {
            return false;
        }
        Iterator<Header> others = other.headers().iterator();
        for (Header mine : one.headers()) {
            Header theirs = others.next();
            boolean same = mine.value() == theirs.value()
                || (mine.value() instanceof String && mine.value().equals(theirs.value()));
            if (!same || !mine.key().equals(theirs.key()) || !Objects.equals(mine.schema(), theirs.schema())) {
                return false;
            }
        }
        return true;
    }
}
