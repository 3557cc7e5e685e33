package penstock.tests.library;

import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.ConnectRecord;

/** The same with a version, that of the library. */
public final class UsesLibrary<R extends ConnectRecord<R>> extends Unversioned<R> implements Versioned {
    @Override
    public String version() {
        return Library.version();
    }
}
