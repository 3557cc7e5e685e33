package org.apache.kafka.connect.runtime.distributed;

import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.TargetState;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.function.Supplier;

/**
 * Plays the scenarios of a file to Java Connect's own assignor and writes what it decides; see assignment.txt.
 *
 *     javac -cp 'libs/*' -d out ReplayAssignments.java
 *     java -cp 'out:libs/*' org.apache.kafka.connect.runtime.distributed.ReplayAssignments assignment.txt > new.txt
 */
public class ReplayAssignments {
    private static final class Clock implements Time {
        private long now = 1_000_000;
        @Override public long milliseconds() { return now; }
        @Override public long nanoseconds() { return now * 1_000_000; }
        @Override public void sleep(long ms) { now += ms; }
        @Override public void waitObject(Object o, Supplier<Boolean> c, long deadline) { throw new UnsupportedOperationException(); }
    }

    private static final class Running {
        private final Set<String> connectors = new LinkedHashSet<>();
        private final Set<ConnectorTaskId> tasks = new LinkedHashSet<>();
    }

    private static Clock clock;
    private static IncrementalCooperativeAssignor assignor;
    private static final Map<String, Integer> configured = new TreeMap<>();
    private static final Map<String, Running> members = new TreeMap<>();
    private static int generation;
    private static int completed;

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            if (line.startsWith("#") || line.isBlank()) {
                System.out.println(line);
            } else if (line.startsWith("> ")) {
                System.out.println(line);
                command(line.substring(2).trim().split(" "));
            }
        }
    }

    private static void command(String[] words) {
        switch (words[0]) {
            case "new":
                clock = new Clock();
                assignor = new IncrementalCooperativeAssignor(new LogContext(), clock, Integer.parseInt(words[1]));
                configured.clear();
                members.clear();
                generation = 0;
                completed = -1;
                break;
            case "config":
                configured.put(words[1], Integer.parseInt(words[2]));
                break;
            case "delete":
                configured.remove(words[1]);
                break;
            case "join":
                members.put(words[1], new Running());
                break;
            case "leave":
                members.remove(words[1]);
                break;
            case "run":
                Running running = members.get(words[1]);
                int dash = words[2].lastIndexOf('-');
                if (dash < 0)
                    running.connectors.add(words[2]);
                else
                    running.tasks.add(new ConnectorTaskId(words[2].substring(0, dash), Integer.parseInt(words[2].substring(dash + 1))));
                break;
            case "wait":
                clock.now += Long.parseLong(words[1]);
                break;
            case "rebalance":
                rebalance(new HashSet<>(Arrays.asList(words)));
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void rebalance(Set<String> words) {
        generation++;
        Map<String, ConnectorsAndTasks> current = new TreeMap<>();
        members.forEach((id, r) -> current.put(id, new ConnectorsAndTasks.Builder().with(r.connectors, r.tasks).build()));
        Map<String, Integer> counts = new HashMap<>(configured);
        Map<String, Map<String, String>> configs = new HashMap<>();
        Map<String, TargetState> states = new HashMap<>();
        Map<ConnectorTaskId, Map<String, String>> taskConfigs = new HashMap<>();
        configured.forEach((name, count) -> {
            configs.put(name, Map.of());
            states.put(name, TargetState.STARTED);
            for (int i = 0; i < count; i++)
                taskConfigs.put(new ConnectorTaskId(name, i), Map.of());
        });
        ClusterConfigState state = new ClusterConfigState(1, null, counts, configs, states, taskConfigs,
                Map.of(), Map.of(), Map.of(), Set.of(), Set.of());
        IncrementalCooperativeAssignor.ClusterAssignment result =
                assignor.performTaskAssignment(state, completed, generation, current);
        System.out.println("delay " + assignor.delay);
        for (String id : members.keySet()) {
            Collection<String> revokedConnectors = result.newlyRevokedConnectors(id);
            Collection<ConnectorTaskId> revokedTasks = result.newlyRevokedTasks(id);
            System.out.println(id + " +" + show(result.newlyAssignedConnectors(id), result.newlyAssignedTasks(id), false)
                    + " -" + show(revokedConnectors, revokedTasks, true));
            if (words.contains("missed-by-" + id))
                continue;
            Running r = members.get(id);
            r.connectors.removeAll(revokedConnectors);
            r.tasks.removeAll(revokedTasks);
            r.connectors.addAll(result.newlyAssignedConnectors(id));
            r.tasks.addAll(result.newlyAssignedTasks(id));
        }
        if (!words.contains("failed"))
            completed = generation;
    }

    // What is revoked comes from hash sets in Java, so it is sorted.
    private static String show(Collection<String> connectors, Collection<ConnectorTaskId> tasks, boolean sorted) {
        List<String> names = new ArrayList<>(sorted ? new TreeSet<>(connectors) : connectors);
        (sorted ? new TreeSet<>(tasks) : tasks).forEach(task -> names.add(task.connector() + "-" + task.task()));
        return names.toString();
    }
}
