package penstock.host.tasks;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.TransactionContext;

/** Where the task wants transactions to end; what it asked for goes with the next poll. */
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
            for (int i = 0; i < polled.size(); i++) {
                if (commitAfter.remove(polled.get(i)) != null) {
                    ends.add(List.of(i, "commit"));
                }
                if (abortAfter.remove(polled.get(i)) != null) {
                    ends.add(List.of(i, "abort"));
                }
            }
        }
        result.put("ends", ends);
        result.put("commit", commit);
        result.put("abort", abort);
        commit = false;
        abort = false;
    }
}
