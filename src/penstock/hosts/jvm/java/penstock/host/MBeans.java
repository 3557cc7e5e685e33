package penstock.host;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.Attribute;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.MBeanServerDelegate;
import javax.management.MBeanServerNotification;
import javax.management.Notification;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;

/**
 * The numbers of the MBeans that plugins register. Each belongs to the session whose thread has registered it.
 *
 * <p>Names and labels are those that Prometheus' JMX exporter gives without any rules: the domain, the value of the first
 * property and the attribute; the other properties are labels.
 */
final class MBeans {
    /** Attributes of one session that are read at most. */
    private static final int MAX_METRICS = 1_000;
    /** Registered by libraries, perhaps when a plugin uses them first. */
    private static final Pattern OF_JAVA =
        Pattern.compile("JMImplementation|java\\..*|javax\\..*|jdk\\..*|com\\.sun\\..*|org\\.apache\\.logging\\..*");
    private static final Pattern PROPERTY = Pattern.compile("([^,=]+)=(\"(?:[^\\\\\"]|\\\\.)*\"|[^,]*)");

    private static final Map<ObjectName, Session> OWNERS = new ConcurrentHashMap<>();

    private MBeans() {}

    static void start() throws JMException {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        // The delegate calls its listeners in the thread that registers.
        server.addNotificationListener(MBeanServerDelegate.DELEGATE_NAME, MBeans::changed, null, null);
    }

    private static void changed(Notification notification, Object nothing) {
        if (notification instanceof MBeanServerNotification change) {
            ObjectName name = change.getMBeanName();
            Session session = Session.current();
            if (change.getType().equals(MBeanServerNotification.UNREGISTRATION_NOTIFICATION)) {
                OWNERS.remove(name);
            } else if (session != null && !OF_JAVA.matcher(name.getDomain()).matches()) {
                OWNERS.put(name, session);
            }
        }
    }

    /** Called when a session has ended: plugins may leave their MBeans. */
    static void forget(Session session) {
        OWNERS.values().removeIf(owner -> owner == session);
    }

    /** {@code also}: labels of all of them, unless an MBean has some of the same names. */
    static List<Map<String, Object>> read(Session session, Map<String, String> also) {
        Readings found = new Readings(also);
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        OWNERS.forEach((name, owner) -> {
            if (owner == session) {
                try {
                    read(server, name, found);
                } catch (JMException | RuntimeException e) {
                    // it has just been unregistered, or fails: the others are still wanted
                }
            }
        });
        return List.copyOf(found.metrics.values());
    }

    private static void read(MBeanServer server, ObjectName name, Readings found) throws JMException {
        String[] readable = Arrays.stream(server.getMBeanInfo(name).getAttributes())
            .filter(MBeanAttributeInfo::isReadable).map(MBeanAttributeInfo::getName).toArray(String[]::new);
        Map<String, String> labels = new LinkedHashMap<>(found.also);
        String first = null;
        Matcher property = PROPERTY.matcher(name.getKeyPropertyListString());
        while (property.find()) {
            if (first == null) {
                first = property.group(2);
            } else {
                labels.put(plain(property.group(1)).replace(':', '_'), property.group(2));
            }
        }
        String prefix = name.getDomain() + "_" + first;
        for (Attribute each : server.getAttributes(name, readable).asList()) {
            found.add(prefix + "_" + each.getName(), labels, each.getValue());
        }
    }

    private static final class Readings {
        final Map<String, String> also;
        /** By name and labels. */
        final Map<Object, Map<String, Object>> metrics = new LinkedHashMap<>();

        Readings(Map<String, String> also) {
            this.also = also;
        }

        void add(String name, Map<String, String> labels, Object value) {
            if (value instanceof CompositeData composite) {
                for (String key : composite.getCompositeType().keySet()) {
                    add(name + "_" + key, labels, composite.get(key));
                }
                return;
            }
            double number = value instanceof Number given ? given.doubleValue()
                : value instanceof Boolean given ? (given ? 1 : 0) : Double.NaN;
            if (Double.isFinite(number) && metrics.size() < MAX_METRICS) {
                String text = plain(name);
                metrics.putIfAbsent(
                    List.of(text, labels), Map.of("mbean", true, "name", text, "tags", labels, "value", number));
            }
        }
    }

    /** Replace the characters that Prometheus does not take. */
    private static String plain(String name) {
        String text = name.replaceAll("[^a-zA-Z0-9:_]+", "_").replaceAll("__+", "_");
        return !text.isEmpty() && Character.isDigit(text.charAt(0)) ? "_" + text : text;
    }
}
