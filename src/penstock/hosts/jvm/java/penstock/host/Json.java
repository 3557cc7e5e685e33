package penstock.host;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as the values that plugins expect. */
public final class Json {
    private Json() {}

    /** A configuration: texts, or null. */
    public static Map<String, String> texts(JsonNode node) {
        Map<String, String> found = new LinkedHashMap<>();
        node.fields().forEachRemaining(each -> found.put(each.getKey(), text(each.getValue())));
        return found;
    }

    public static String text(JsonNode node) {
        return node == null || node.isNull() || node.isMissingNode() ? null : node.asText();
    }

    /** A source's partition or offset, as Connect reads them back from its topic: integers are longs. */
    public static Map<String, Object> offset(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        Map<String, Object> found = new LinkedHashMap<>();
        node.fields().forEachRemaining(each -> found.put(each.getKey(), value(each.getValue())));
        return found;
    }

    public static Object value(JsonNode node) {
        switch (node.getNodeType()) {
            case BOOLEAN:
                return node.booleanValue();
            case NUMBER:
                return node.isIntegralNumber() ? (Object) node.longValue() : (Object) node.doubleValue();
            case STRING:
                return node.textValue();
            case ARRAY:
                List<Object> items = new ArrayList<>();
                node.forEach(each -> items.add(value(each)));
                return items;
            case OBJECT:
                return offset(node);
            default:
                return null;
        }
    }
}
