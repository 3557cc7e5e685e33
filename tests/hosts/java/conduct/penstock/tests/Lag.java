package penstock.tests;

import java.lang.management.ManagementFactory;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.connect.errors.ConnectException;

/** An MBean as Debezium's connectors register theirs, which stays until the next start. */
public final class Lag implements LagMBean {
    static synchronized void register(String topic, String task) {
        try {
            String properties = "type=connector-metrics,context=streaming,server=\"" + topic + "\",number=" + task;
            ObjectName name = new ObjectName("penstock.tests:" + properties);
            MBeanServer server = ManagementFactory.getPlatformMBeanServer();
            if (server.isRegistered(name)) {
                server.unregisterMBean(name);
            }
            server.registerMBean(new Lag(), name);
        } catch (JMException e) {
            throw new ConnectException(e);
        }
    }

    @Override
    public long getMilliSecondsBehindSource() {
        return 1_500;
    }

    @Override
    public boolean isConnected() {
        return true;
    }

    @Override
    public String getName() {
        return "lag";
    }
}
