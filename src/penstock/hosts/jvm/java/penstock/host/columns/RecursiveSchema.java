package penstock.host.columns;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;

/**
 * A schema inside of the one that it stands for, such as the {@code next} of a list. All its attributes but optional,
 * default and parameters are those of its target. Two of them are equal if what differs is, and their targets are.
 */
final class RecursiveSchema implements Schema {
    private record Pair(Schema one, Schema other) {
        @Override
        public boolean equals(Object object) {
            return object instanceof Pair && ((Pair) object).one == one && ((Pair) object).other == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(one) * 31 + System.identityHashCode(other);
        }
    }

    /** The pairs of targets that this thread is comparing, which are taken to be equal meanwhile. */
    private static final ThreadLocal<Set<Pair>> COMPARING = new ThreadLocal<>();

    private final boolean optional;
    private final Map<String, String> parameters;
    private Schema target;

    /** {@code parameters}: null for those of the target. */
    RecursiveSchema(boolean optional, Map<String, String> parameters) {
        this.optional = optional;
        this.parameters = parameters;
    }

    /** Say which schema it stands for, which is complete now. */
    void close(Schema target) {
        this.target = target;
    }

    Schema target() {
        return target;
    }

    /** Whether two schemas are of the same fields, keys and items: the same objects, whatever wraps them. */
    static boolean sameParts(Schema one, Schema other) {
        if (one.type() != other.type()) {
            return false;
        }
        switch (one.type()) {
            case STRUCT:
                List<Field> fields = one.fields();
                List<Field> others = other.fields();
                boolean same = !fields.isEmpty() && fields.size() == others.size();
                for (int i = 0; same && i < fields.size(); i++) {
                    same = fields.get(i) == others.get(i);
                }
                return same;
            case MAP:
                return one.keySchema() == other.keySchema() && one.valueSchema() == other.valueSchema();
            case ARRAY:
                return one.valueSchema() == other.valueSchema();
            default:
                return false;
        }
    }

    @Override
    public Type type() {
        return target.type();
    }

    @Override
    public boolean isOptional() {
        return optional;
    }

    @Override
    public Object defaultValue() {
        return null;
    }

    @Override
    public String name() {
        return target.name();
    }

    @Override
    public Integer version() {
        return target.version();
    }

    @Override
    public String doc() {
        return target.doc();
    }

    @Override
    public Map<String, String> parameters() {
        return parameters == null ? target.parameters() : parameters;
    }

    @Override
    public Schema keySchema() {
        return target.keySchema();
    }

    @Override
    public Schema valueSchema() {
        return target.valueSchema();
    }

    @Override
    public List<Field> fields() {
        return target.fields();
    }

    @Override
    public Field field(String fieldName) {
        return target.field(fieldName);
    }

    @Override
    public Schema schema() {
        return this;
    }

    @Override
    public boolean equals(Object object) {
        if (this == object) {
            return true;
        }
        if (!(object instanceof RecursiveSchema)) {
            return false;
        }
        RecursiveSchema other = (RecursiveSchema) object;
        if (target == null || other.target == null) {
            return false;
        }
        return optional == other.optional
            && Objects.equals(shown(parameters()), shown(other.parameters()))
            && (target == other.target || equalTargets(target, other.target));
    }

    private static Map<String, String> shown(Map<String, String> parameters) {
        return parameters == null ? Map.of() : new LinkedHashMap<>(parameters);
    }

    private static boolean equalTargets(Schema one, Schema other) {
        Set<Pair> pairs = COMPARING.get();
        if (pairs != null) {
            return !pairs.add(new Pair(one, other)) || one.equals(other);
        }
        COMPARING.set(new HashSet<>(Set.of(new Pair(one, other))));
        try {
            return one.equals(other);
        } finally {
            COMPARING.remove();
        }
    }

    @Override
    public int hashCode() {
        return optional ? 1 : 0;
    }

    @Override
    public String toString() {
        return "Schema{" + (target.name() == null ? "" : target.name() + ":") + target.type() + "}";
    }
}
