package penstock.host.columns;

/** Tags of the columns; the same numbers as in {@code codec/tags.py}. */
final class Tag {
    static final int NULLS = 0;
    static final int INT8 = 1;
    static final int INT16 = 2;
    static final int INT32 = 3;
    static final int INT64 = 4;
    static final int FLOAT32 = 5;
    static final int FLOAT64 = 6;
    static final int BOOLEAN = 7;
    static final int STRING = 8;
    static final int BYTES = 9;
    static final int ARRAY = 10;
    static final int MAP = 11;
    static final int STRUCT = 12;
    static final int DECIMAL = 13;
    static final int DATE = 14;
    static final int MIXED = 20;
    static final int REPEATED = 21;
    static final int SEQUENCE = 22;

    private Tag() {}
}
