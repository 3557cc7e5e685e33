import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;

/**
 * Writes group_protocol.txt: names and the bytes of Java Connect's own classes, in hexadecimal.
 *
 *     java -cp 'libs/*' WriteGroupProtocol.java > group_protocol.txt
 *
 * The jars are those of Maven's org.apache.kafka:connect-runtime:4.3.1 with their dependencies.
 */
public class WriteGroupProtocol {
    private static final String URL = "http://worker-ä:8083/";
    private static final String LEADER = "connect-1-4f0f";

    public static void main(String[] args) {
        ConnectorTaskId[] a = {new ConnectorTaskId("a", 0), new ConnectorTaskId("a", 1), new ConnectorTaskId("b", 12)};
        ExtendedAssignment running = new ExtendedAssignment((short) 2, (short) 0, LEADER, URL, 1234567890123L,
                List.of("a", "b"), List.of(a), List.of("c"), List.of(new ConnectorTaskId("c", 0), new ConnectorTaskId("d", 7)), 300000);
        ExtendedAssignment failed = new ExtendedAssignment((short) 2, (short) 1, LEADER, URL, 5,
                List.of(), List.of(), List.of(), List.of(), 0);
        metadata("running", new ExtendedWorkerState(URL, 41, running));
        metadata("nothing", new ExtendedWorkerState(URL, -1, null));
        for (boolean sessioned : new boolean[]{false, true}) {
            String version = sessioned ? "v2" : "v1";
            write("assignment running " + version, IncrementalCooperativeConnectProtocol.serializeAssignment(running, sessioned));
            write("assignment failed " + version, IncrementalCooperativeConnectProtocol.serializeAssignment(failed, sessioned));
        }
        write("assignment running v0", ConnectProtocol.serializeAssignment(running));
        write("assignment failed v0", ConnectProtocol.serializeAssignment(failed));
    }

    private static void metadata(String name, ExtendedWorkerState state) {
        for (JoinGroupRequestProtocol protocol : IncrementalCooperativeConnectProtocol.metadataRequest(state, true))
            write("metadata " + name + " " + protocol.name(), ByteBuffer.wrap(protocol.metadata()));
    }

    private static void write(String name, ByteBuffer bytes) {
        byte[] array = new byte[bytes.remaining()];
        bytes.get(array);
        System.out.println(name + ": " + HexFormat.of().formatHex(array));
    }
}
