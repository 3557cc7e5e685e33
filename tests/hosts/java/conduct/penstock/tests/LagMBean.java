package penstock.tests;

/** What {@link Lag} says, in part. */
public interface LagMBean {
    long getMilliSecondsBehindSource();

    boolean isConnected();

    String getName();
}
