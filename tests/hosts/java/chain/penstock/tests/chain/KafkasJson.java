package penstock.tests.chain;

import org.apache.kafka.connect.json.JsonConverter;

/** Kafka's own code, under another name: what replaces Kafka's class does not replace this one. */
public final class KafkasJson extends JsonConverter {
}
