package penstock.tests.defined;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.CaseInsensitiveValidString;
import org.apache.kafka.common.config.ConfigDef.CompositeValidator;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.LambdaValidator;
import org.apache.kafka.common.config.ConfigDef.ListSize;
import org.apache.kafka.common.config.ConfigDef.NonEmptyString;
import org.apache.kafka.common.config.ConfigDef.NonEmptyStringWithoutControlChars;
import org.apache.kafka.common.config.ConfigDef.NonNullValidator;
import org.apache.kafka.common.config.ConfigDef.Range;
import org.apache.kafka.common.config.ConfigDef.Recommender;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigDef.ValidList;
import org.apache.kafka.common.config.ConfigDef.ValidString;
import org.apache.kafka.common.config.ConfigDef.Width;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;

/** Definitions with everything that ConfigDef has; what the code in them does, {@code own.mode} says. */
final class Settings {
    private Settings() {
    }

    static ConfigDef all() {
        return new ConfigDef()
            .define("own.mode", Type.STRING, "plain", null, Importance.HIGH, "What recommenders do.", "Basics", 1,
                Width.SHORT, "Mode", List.of("own.colour", "own.shade"))
            .define("own.colour", Type.STRING, "red", CaseInsensitiveValidString.in("red", "blue"), Importance.MEDIUM,
                "A colour.", "Basics", 2, Width.MEDIUM, "Colour", List.of("own.shade"), Settings.recommend(
                    (name, parsed) -> new ArrayList<>(List.of("red", "blue")), (name, parsed) -> true))
            .define("own.shade", Type.STRING, null, null, Importance.LOW, "A shade.", "Basics", 3, Width.LONG, "Shade",
                Settings.recommend(Settings::shades, Settings::showsShade))
            .define("own.required", Type.STRING, ConfigDef.NO_DEFAULT_VALUE, new NonEmptyString(), Importance.HIGH,
                "It must be there.", "Texts", 9, Width.NONE, "Required")
            .define("own.nonnull", Type.STRING, "x", new NonNullValidator(), Importance.LOW, "Not null.")
            .define("own.name", Type.STRING, "n", new NonEmptyStringWithoutControlChars(), Importance.LOW, "A name.")
            .define("own.lambda", Type.STRING, "ok", LambdaValidator.with(Settings::check, () -> "as own.lambda says"),
                Importance.LOW, "What its validator does.", "Texts", 1, Width.NONE, "Lambda")
            .define("own.choice", Type.STRING, "a", ValidString.in("a", "b"), Importance.LOW, "", "Texts", 1, Width.NONE,
                "Choice", List.of(), Settings.recommend((name, parsed) -> List.of("a", "b"), (name, parsed) -> true),
                "own.choice.of.old")
            .define("own.int", Type.INT, 3, Range.between(0, 10), Importance.LOW, "An int.", "Numbers", 1, Width.NONE,
                "Int", Settings.recommend((name, parsed) -> List.of(1, 2, 3), (name, parsed) -> {
                    Integer found = (Integer) parsed.get("own.int");
                    return found != null && found <= 5;
                }))
            .define("own.short", Type.SHORT, (short) 1, Range.atLeast((short) 1), Importance.LOW, "A short.", "Numbers", 2, Width.NONE,
                "Short", Settings.recommend((name, parsed) -> List.of((short) 7), (name, parsed) -> true))
            .define("own.long", Type.LONG, 1L << 40, Importance.LOW, "A long.", "Numbers", 3, Width.NONE, "Long",
                Settings.recommend((name, parsed) -> List.of(1L << 50), (name, parsed) -> true))
            .define("own.double", Type.DOUBLE, 1e-7, Range.between(0.0, 1.5), Importance.LOW, "A double.", "Numbers", 4,
                Width.NONE, "Double", Settings.recommend((name, parsed) -> List.of(0.1, 1e10), (name, parsed) -> true))
            .define("own.composite", Type.INT, 2, CompositeValidator.of(new NonNullValidator(), Range.atLeast(2)),
                Importance.LOW, "Not null, and at least 2.")
            .define("own.boolean", Type.BOOLEAN, true, Importance.LOW, "A boolean.", "Others", 1, Width.NONE, "Boolean",
                Settings.recommend((name, parsed) -> List.of(true, false), (name, parsed) -> true))
            .define("own.list", Type.LIST, "a,b", ListSize.atMostOfSize(2), Importance.LOW, "A list.", "Others", 2,
                Width.NONE, "List")
            .define("own.listed", Type.LIST, List.of(), ValidList.in("x", "y", "z"), Importance.LOW, "A list.", "Others",
                3, Width.NONE, "Listed", Settings.recommend((name, parsed) -> List.of("x", "y"), (name, parsed) ->
                    !((List<?>) parsed.get("own.list")).contains("hide")))
            .define("own.distinct", Type.LIST, "x", ValidList.anyNonDuplicateValues(false, false), Importance.LOW, "One.")
            .define("own.class", Type.CLASS, String.class, Importance.LOW, "A class.", "Others", 5, Width.NONE, "Class",
                Settings.recommend((name, parsed) -> List.of(Integer.class, Settings.class), (name, parsed) -> true))
            .define("own.no.class", Type.CLASS, null, Importance.LOW, "None.")
            .define("own.password", Type.PASSWORD, "abcd", LambdaValidator.with((name, value) -> {
                if (value == null || ((Password) value).value().length() < 4) {
                    throw new ConfigException("own.password is too short");
                }
            }, () -> "long enough"), Importance.LOW, "A password.", "Others", 6, Width.NONE, "Password",
                Settings.recommend((name, parsed) -> List.of(new Password("never shown")), (name, parsed) -> true))
            .define("own.length", Type.INT, 0, Importance.LOW, "A length.", null, -1, Width.NONE, "Length",
                Settings.recommend((name, parsed) -> {
                    Password password = (Password) parsed.get("own.password");
                    return List.of(password == null ? -1 : password.value().length());
                }, (name, parsed) -> parsed.get("own.class") == String.class))
            .define("own.undocumented", Type.STRING, "", Importance.LOW, null)
            .defineInternal("own.internal", Type.STRING, "i", Importance.LOW);
    }

    /** One refers to another that is not defined. */
    static ConfigDef ghost() {
        return new ConfigDef().define("own.mode", Type.STRING, "plain", null, Importance.HIGH, "What recommenders do.",
            "Basics", 1, Width.SHORT, "Mode", List.of("own.ghost"));
    }

    private static List<Object> shades(String name, Map<String, Object> parsed) {
        switch (String.valueOf(parsed.get("own.mode"))) {
            case "immutable":
                return List.of("dark", "light");
            case "throw":
                throw new IllegalStateException("no shades on purpose");
            case "throw.nothing":
                throw new IllegalStateException();
            case "error":
                throw new LinkageError("no shades at all");
            case "config":
                throw new ConfigException(name, parsed.get(name), "no shades for this");
            case "null":
                return null;
            case "holes":
                return new ArrayList<>(Arrays.asList("dark", null));
            case "numbers":
                return new ArrayList<>(List.of(1, 2.5));
            case "fewer":
                return new ArrayList<>(parsed.containsKey("own.asked") ? List.of("dark") : List.of("dark", "light"));
            default:
                return new ArrayList<>(List.of("dark", "light", String.valueOf(parsed.get("own.colour"))));
        }
    }

    private static boolean showsShade(String name, Map<String, Object> parsed) {
        if ("invisible.throw".equals(parsed.get("own.mode"))) {
            throw new IllegalStateException("not shown on purpose");
        }
        if ("invisible.config".equals(parsed.get("own.mode"))) {
            throw new ConfigException("not shown for this");
        }
        return !"invisible".equals(parsed.get("own.mode"));
    }

    private static void check(String name, Object value) {
        switch (String.valueOf(value)) {
            case "bad":
                throw new ConfigException(name, value, "it is bad");
            case "throw":
                throw new IllegalStateException("checked on purpose");
            case "throw.nothing":
                throw new NullPointerException();
            case "error":
                throw new LinkageError("not checked at all");
            default:
        }
    }

    private interface Values {
        List<Object> of(String name, Map<String, Object> parsed);
    }

    private interface Visible {
        boolean is(String name, Map<String, Object> parsed);
    }

    private static Recommender recommend(Values values, Visible visible) {
        return new Recommender() {
            @Override
            public List<Object> validValues(String name, Map<String, Object> parsed) {
                return values.of(name, parsed);
            }

            @Override
            public boolean visible(String name, Map<String, Object> parsed) {
                return visible.is(name, parsed);
            }
        };
    }

    /** Which of the definitions a variant of a plugin has. */
    enum Variant {
        ALL, GHOST, NULL, THROWING, FAILING, CONFIG;

        ConfigDef config() {
            switch (this) {
                case ALL:
                    return all();
                case GHOST:
                    return ghost();
                case NULL:
                    return null;
                case FAILING:
                    throw new LinkageError("no definitions at all");
                case CONFIG:
                    throw new ConfigException("no definitions for this");
                default:
                    throw new IllegalStateException("no definitions on purpose");
            }
        }
    }
}
