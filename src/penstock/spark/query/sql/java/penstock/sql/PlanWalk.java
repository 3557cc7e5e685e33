package penstock.sql;

import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InheritAnalysisRules;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.Product;

/**
 * Everything that a plan consists of, as lines of text that Python judges.
 *
 * <p>Nothing is known here of kinds of plans or expressions: each field of each object is followed, whether Spark counts
 * it among the children or not. What can't be followed is named by its class. A line is: number, number of the object
 * around it, kind, class, line and position in the SQL text (0 and -1: not known), value; separated by tabs, with
 * backslashes before backslashes, tabs and ends of lines. The value of an expression is its function's name if Spark
 * says that it may give another result for the same arguments.
 */
public final class PlanWalk {
    private static final int MAX_OBJECTS = 200_000;

    /** Again: what is most likely a field already, and then is not named twice. */
    private record Item(Object object, int parent, boolean again) {}

    private final StringBuilder text = new StringBuilder();
    private final ArrayDeque<Item> waiting = new ArrayDeque<>();
    private final IdentityHashMap<Object, Integer> known = new IdentityHashMap<>();
    private int count;

    /** The lines of a plan; a temporary view is named, and what is below it is not followed. Any thread may call it. */
    public String walk(Object plan) throws ReflectiveOperationException {
        PlanWalk walk = new PlanWalk();
        walk.waiting.push(new Item(plan, -1, false));
        while (!walk.waiting.isEmpty()) {
            Item item = walk.waiting.pop();
            if (walk.count > MAX_OBJECTS) {
                throw new IllegalArgumentException("it has more than " + MAX_OBJECTS + " parts");
            }
            if (!item.again || !walk.known.containsKey(item.object)) {
                walk.visit(item.object, item.parent);
            }
        }
        return walk.text.toString();
    }

    private void visit(Object object, int parent) throws ReflectiveOperationException {
        if (object == null || object == scala.None$.MODULE$) {
            add(parent, "null", "", null, "");
        } else if (object instanceof View view) {
            String name = view.desc().identifier().table() + (view.isTempView() ? "" : " (not temporary)");
            add(parent, "view", object.getClass().getName(), view.origin(), name);
        } else if (object instanceof TreeNode<?> || object instanceof StructField || object instanceof DataType) {
            Integer before = known.get(object);
            if (before != null) {
                add(parent, "same", "", null, before.toString());
                return;
            }
            known.put(object, count);
            if (object instanceof TreeNode<?> node) {
                tree(node, parent);
            } else {
                type(object, parent);
            }
        } else if (object instanceof String || object instanceof UTF8String || object instanceof Character) {
            add(parent, "text", "", null, object.toString());
        } else if (object instanceof Number || object instanceof Boolean || object instanceof Decimal) {
            add(parent, "number", "", null, object.toString());
        } else if (object instanceof Class<?> named) {
            add(parent, "class", named.getName(), null, "");
        } else if (object instanceof Metadata metadata) {
            add(parent, "metadata", "", null, metadata.json());
        } else if (object instanceof Option<?> option) {
            visit(option.get(), parent);
        } else {
            group(object, parent);
        }
    }

    private void group(Object object, int parent) {
        String name = object.getClass().getName();
        List<Object> parts = new ArrayList<>();
        String kind = "list";
        if (object instanceof scala.collection.Map<?, ?> map) {
            kind = "map";
            pairs(map.iterator(), parts);
        } else if (object instanceof Map<?, ?> map) {
            kind = "map";
            map.forEach((key, value) -> {
                parts.add(key);
                parts.add(value);
            });
        } else if (object instanceof scala.collection.Iterable<?> several) {
            all(several.iterator(), parts);
        } else if (object instanceof Iterable<?> several) {
            several.forEach(parts::add);
        } else if (object.getClass().isArray() && !object.getClass().getComponentType().isPrimitive()) {
            for (int i = 0; i < Array.getLength(object); i++) {
                parts.add(Array.get(object, i));
            }
        } else if (object instanceof Product product && name.startsWith("scala.Tuple")) {
            all(product.productIterator(), parts);
        } else if (object instanceof Product product) {
            kind = "product";
            all(product.productIterator(), parts);
        } else {
            kind = "object";
        }
        follow(add(parent, kind, name, null, ""), parts, 0);
    }

    private void tree(TreeNode<?> node, int parent) throws ReflectiveOperationException {
        List<Object> parts = new ArrayList<>();
        all(node.productIterator(), parts);
        // Of the second list of parameters, such as the metadata of an alias; protected in Scala, public in Java.
        Method more = TreeNode.class.getDeclaredMethod("otherCopyArgs");
        more.setAccessible(true);
        all(((scala.collection.Iterable<?>) more.invoke(node)).iterator(), parts);
        int fields = parts.size();
        all(((scala.collection.Iterable<?>) node.children()).iterator(), parts);
        all(((scala.collection.Iterable<?>) node.innerChildren()).iterator(), parts);
        String kind = node instanceof QueryPlan<?> ? "plan" : node instanceof Expression ? "expression" : "tree";
        String value = node instanceof Expression expression ? differing(expression) : "";
        follow(add(parent, kind, node.getClass().getName(), node.origin(), value), parts, parts.size() - fields);
    }

    private static String differing(Expression expression) {
        try {
            List<Object> arguments = new ArrayList<>();
            if (expression instanceof InheritAnalysisRules replaced) {
                all(replaced.parameters().iterator(), arguments);
            } else {
                all(expression.children().iterator(), arguments);
            }
            for (Object each : arguments) {
                if (each instanceof Expression argument && !argument.deterministic()) {
                    return "";
                }
            }
            boolean same = expression.deterministic()
                    && (!(expression instanceof RuntimeReplaceable replaced) || replaced.replacement().deterministic());
            if (same) {
                return "";
            }
            return expression instanceof UserDefinedExpression users ? users.name() : expression.prettyName();
        } catch (Exception notResolved) {
            // Spark knows it of analyzed expressions alone.
            return "";
        }
    }

    private void type(Object object, int parent) {
        List<Object> parts = new ArrayList<>();
        if (object instanceof Product product) {
            all(product.productIterator(), parts);
        }
        follow(add(parent, "type", object.getClass().getName(), null, ""), parts, 0);
    }

    private int add(int parent, String kind, String name, Origin origin, String value) {
        int line = origin == null || origin.line().isEmpty() ? 0 : (Integer) origin.line().get();
        int position = origin == null || origin.startPosition().isEmpty() ? -1 : (Integer) origin.startPosition().get();
        text.append(count).append('\t').append(parent).append('\t').append(kind).append('\t').append(name);
        text.append('\t').append(line).append('\t').append(position).append('\t');
        for (int i = 0; i < value.length(); i++) {
            char each = value.charAt(i);
            switch (each) {
                case '\\' -> text.append("\\\\");
                case '\t' -> text.append("\\t");
                case '\n' -> text.append("\\n");
                case '\r' -> text.append("\\r");
                default -> text.append(each);
            }
        }
        text.append('\n');
        return count++;
    }

    /** The last parts, so many of them, may have been followed when their turn comes. */
    private void follow(int parent, List<Object> parts, int again) {
        for (int i = parts.size() - 1; i >= 0; i--) {
            waiting.push(new Item(parts.get(i), parent, i >= parts.size() - again));
        }
    }

    private static void all(scala.collection.Iterator<?> items, List<Object> parts) {
        while (items.hasNext()) {
            parts.add(items.next());
        }
    }

    private static void pairs(scala.collection.Iterator<?> items, List<Object> parts) {
        while (items.hasNext()) {
            all(((Product) items.next()).productIterator(), parts);
        }
    }
}
