package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;

/** Answers a message of {@link Messages#RECEIVED}. The payload is little-endian. */
@FunctionalInterface
public interface Method {
    Reply call(Session session, JsonNode message, ByteBuffer payload) throws Exception;
}
