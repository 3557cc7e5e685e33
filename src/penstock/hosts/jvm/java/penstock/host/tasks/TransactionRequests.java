package penstock.host.tasks;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.TransactionContext;

/**
 * Where the task wants transactions to end; what it asked for goes with the next poll. It names a record by the object
 * itself, or else, as in Java Connect, by one that is equal.
 */
final class TransactionRequests implements TransactionContext {
    private boolean commit;
    private boolean abort;
    private final Map<SourceRecord, Boolean> commitAfter = new IdentityHashMap<>();
    private final Map<SourceRecord, Boolean> abortAfter = new IdentityHashMap<>();

    @Override
    public synchronized void commitTransaction() {
        commit = true;
    }

    @Override
    public synchronized void commitTransaction(SourceRecord record) {
        commitAfter.put(record, true);
    }

    @Override
    public synchronized void abortTransaction() {
        abort = true;
    }

    @Override
    public synchronized void abortTransaction(SourceRecord record) {
        abortAfter.put(record, true);
    }

    /** Add the requests for this batch to the result of its poll; those for other records stay. */
    synchronized void take(List<SourceRecord> polled, Map<String, Object> result) {
        List<Object> ends = new ArrayList<>();
        if (polled != null && !(commitAfter.isEmpty() && abortAfter.isEmpty())) {
            take(commitAfter, "commit", polled, ends);
            take(abortAfter, "abort", polled, ends);
        }
        result.put("ends", ends);
        result.put("commit", commit);
        result.put("abort", abort);
        commit = false;
        abort = false;
    }

    private static void take(
            Map<SourceRecord, Boolean> after, String how, List<SourceRecord> polled, List<Object> ends) {
        for (int i = 0; i < polled.size() && !after.isEmpty(); i++) {
            if (after.remove(polled.get(i)) != null) {
                ends.add(List.of(i, how));
            }
        }
        Set<SourceRecord> left = new HashSet<>(after.keySet());
        for (int i = 0; i < polled.size() && !left.isEmpty(); i++) {
            SourceRecord record = polled.get(i);
            if (left.remove(record)) {
                after.keySet().removeIf(each -> each.equals(record)); // one request, as a set has it
                ends.add(List.of(i, how));
            }
        }
    }
}
