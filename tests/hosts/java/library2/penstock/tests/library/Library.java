package penstock.tests.library;

/** A library of which two plugins carry different versions. */
public final class Library {
    private Library() {
    }

    public static String version() {
        return "2.0";
    }
}
