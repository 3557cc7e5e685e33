package penstock.tests;

import java.sql.BatchUpdateException;
import java.sql.SQLException;

/** An error of a driver that only the plugin has: of a batch, with the error of the row behind it. */
public final class RefusedRowException extends BatchUpdateException {
    private static final long serialVersionUID = 1;

    public RefusedRowException(String message) {
        super(message, "40000", 0, new int[0]);
        setNextException(new ForeignKeyException("no such customer"));
    }

    private static final class ForeignKeyException extends SQLException {
        private static final long serialVersionUID = 1;

        ForeignKeyException(String message) {
            super(message, "23503", 1452);
        }
    }
}
