package penstock.jdbc;

import java.sql.Connection;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.Locale;
import java.util.TimeZone;

/** Dates and times as each driver gives and takes them without Java's calendar, which is Julian before 15 October 1582:
    days are those of ISO 8601 on every path. For one thread. */
final class Moments {
    private static final long DAY = 86_400_000L;
    private static final int NANOS = 1_000_000_000;

    /** How a driver is asked. */
    enum Style {
        /** Texts of which the server makes the type of the column. */
        POSTGRESQL,
        /** Classes of java.time; times of day may be durations. */
        MYSQL,
        /** Numbers and texts, whatever the column's type. */
        SQLITE,
        /** A calendar that is Gregorian from the beginning. */
        CALENDAR;

        static Style of(Connection connection) throws SQLException {
            String name = connection.getMetaData().getDriverName();
            if (name.startsWith("PostgreSQL")) return POSTGRESQL;
            if (name.startsWith("MariaDB") || name.startsWith("MySQL")) return MYSQL;
            return name.startsWith("SQLite") ? SQLITE : CALENDAR;
        }
    }

    final Style style;
    private final Calendar times;
    private final Calendar dates;
    /** Whether these zones are UTC, where no calendar is needed. */
    private final boolean timesUtc;
    private final boolean datesUtc;
    /** The result whose types of columns are in {@code types}, as far as they were needed. */
    private ResultSet known;
    private String[] types;

    /** {@code zone}: of times in the database; {@code dateZone}: of dates. */
    Moments(Style style, String zone, String dateZone) {
        this.style = style;
        times = proleptic(zone);
        dates = proleptic(dateZone);
        timesUtc = zone.equals("UTC");
        datesUtc = dateZone.equals("UTC");
    }

    /** Not a calendar of the machine's locale: in Thailand its years are others. */
    static Calendar proleptic(String zone) {
        GregorianCalendar made = new GregorianCalendar(TimeZone.getTimeZone(zone));
        made.setGregorianChange(new java.util.Date(Long.MIN_VALUE));
        return made;
    }

    // -- to statements

    void setDate(PreparedStatement statement, int i, long millis) throws SQLException {
        switch (style) {
            case POSTGRESQL -> statement.setObject(i, text(local(dates, millis, 0), false), Types.OTHER);
            case MYSQL -> statement.setObject(i, ofFourDigits(local(dates, millis, 0)).toLocalDate());
            default -> statement.setDate(i, new Date(millis), dates);
        }
    }

    void setTimestamp(PreparedStatement statement, int i, Timestamp value) throws SQLException {
        switch (style) {
            case POSTGRESQL ->
                    statement.setObject(i, text(local(times, value.getTime(), value.getNanos()), true), Types.OTHER);
            case MYSQL ->
                    statement.setObject(i, ofFourDigits(local(times, value.getTime(), value.getNanos())));
            default -> statement.setTimestamp(i, value, times);
        }
    }

    /** Of greater years the driver would send the last 16 bits. */
    private static LocalDateTime ofFourDigits(LocalDateTime at) {
        if (at.getYear() < 0 || at.getYear() > 9999) throw new UnfitException(at + " is beyond the years 0 to 9999");
        return at;
    }

    /** As PostgreSQL reads it into columns of any type of times. The offset is that of {@code times}, just set. */
    private String text(LocalDateTime at, boolean time) {
        int year = at.getYear() > 0 ? at.getYear() : 1 - at.getYear();
        StringBuilder text = new StringBuilder(40);
        number(text, year, 4).append('-');
        number(text, at.getMonthValue(), 2).append('-');
        number(text, at.getDayOfMonth(), 2);
        if (time) {
            number(text.append(' '), at.getHour(), 2);
            number(text.append(':'), at.getMinute(), 2);
            number(text.append(':'), at.getSecond(), 2);
            if (at.getNano() != 0) number(text.append('.'), at.getNano(), 9);
            int seconds = timesUtc ? 0 : (times.get(Calendar.ZONE_OFFSET) + times.get(Calendar.DST_OFFSET)) / 1000;
            text.append(ZoneOffset.ofTotalSeconds(seconds).getId().replace("Z", "+00"));
        }
        return at.getYear() > 0 ? text.toString() : text.append(" BC").toString();
    }

    /** With at least so many digits; quicker than a format. */
    private static StringBuilder number(StringBuilder text, int value, int width) {
        for (int least = 10; --width > 0; least *= 10) if (value < least) text.append('0');
        return text.append(value);
    }

    // -- from results

    /** Days since 1970; null where the column is null. */
    Integer days(ResultSet rows, int i) throws SQLException {
        switch (style) {
            case POSTGRESQL, MYSQL -> {
                LocalDate value = rows.getObject(i, LocalDate.class);
                if (value == null) return nothing(rows, i);
                finite(value.equals(LocalDate.MAX) || value.equals(LocalDate.MIN), rows, i);
                return Math.toIntExact(value.toEpochDay());
            }
            case SQLITE -> {
                LocalDateTime text = text(rows, i);
                if (text != null) return Math.toIntExact(text.toLocalDate().toEpochDay());
            }
            default -> {}
        }
        Date value = rows.getDate(i, dates);
        return value == null ? null : Math.toIntExact(Math.floorDiv(value.getTime(), DAY));
    }

    /** A point in time; null where the column is null. */
    Timestamp moment(ResultSet rows, int i) throws SQLException {
        switch (style) {
            case POSTGRESQL -> {
                if (type(rows, i).equals("timestamptz")) {
                    OffsetDateTime value = rows.getObject(i, OffsetDateTime.class);
                    if (value == null) return null;
                    finite(value.equals(OffsetDateTime.MAX) || value.equals(OffsetDateTime.MIN), rows, i);
                    return moment(Math.multiplyExact(value.toEpochSecond(), 1000L), value.getNano());
                }
                if (type(rows, i).equals("date")) { // a timestamp column of a source may be one
                    Integer days = days(rows, i);
                    return days == null ? null : moment(millis(LocalDate.ofEpochDay(days).atStartOfDay()), 0);
                }
                LocalDateTime value = rows.getObject(i, LocalDateTime.class);
                if (value == null) return null;
                finite(value.equals(LocalDateTime.MAX) || value.equals(LocalDateTime.MIN), rows, i);
                return moment(millis(value), value.getNano());
            }
            case MYSQL -> {
                LocalDateTime value = rows.getObject(i, LocalDateTime.class);
                return value == null ? nothing(rows, i) : moment(millis(value), value.getNano());
            }
            case SQLITE -> {
                LocalDateTime text = text(rows, i);
                if (text != null) return moment(millis(text), text.getNano());
            }
            default -> {}
        }
        return rows.getTimestamp(i, times);
    }

    /** Milliseconds since midnight, in UTC; null where the column is null. */
    Integer time(ResultSet rows, int i) throws SQLException {
        LocalTime value;
        switch (style) {
            case POSTGRESQL -> {
                if (type(rows, i).equals("timetz")) {
                    OffsetTime at = rows.getObject(i, OffsetTime.class);
                    if (at == null) return null;
                    ofDay(at.equals(OffsetTime.MAX), rows, i);
                    return (int) (at.withOffsetSameInstant(ZoneOffset.UTC).toLocalTime().toNanoOfDay() / 1_000_000);
                }
                value = rows.getObject(i, LocalTime.class);
                if (value == null) return null;
                ofDay(value.equals(LocalTime.MAX), rows, i);
            }
            case MYSQL -> {
                Duration at = rows.getObject(i, Duration.class);
                if (at == null) return nothing(rows, i);
                ofDay(at.isNegative() || at.toDays() > 0, rows, i);
                value = LocalTime.ofNanoOfDay(at.toNanos());
            }
            default -> {
                java.sql.Time at = rows.getTime(i, times);
                return at == null ? null : (int) Math.floorMod(at.getTime(), DAY);
            }
        }
        long seconds = millis(value.atDate(LocalDate.EPOCH));
        return (int) Math.floorMod(seconds + value.getNano() / 1_000_000, DAY);
    }

    /** As the database writes it; null where the column is null. MySQL's driver adds digits to fractions. */
    String timeText(ResultSet rows, int i) throws SQLException {
        if (style != Style.MYSQL) return rows.getString(i);
        Duration value = rows.getObject(i, Duration.class);
        if (value == null) return nothing(rows, i);
        Duration size = value.abs();
        String text = String.format(
                Locale.ROOT, "%02d:%02d:%02d", size.toHours(), size.toMinutesPart(), size.toSecondsPart());
        int digits = rows.getMetaData().getScale(i);
        if (digits > 0) text += String.format(Locale.ROOT, ".%09d", size.getNano()).substring(0, 1 + digits);
        return value.isNegative() ? "-" + text : text;
    }

    private String type(ResultSet rows, int i) throws SQLException {
        if (rows != known) {
            known = rows;
            types = new String[rows.getMetaData().getColumnCount()];
        }
        if (types[i - 1] == null) types[i - 1] = rows.getMetaData().getColumnTypeName(i);
        return types[i - 1];
    }

    private static void finite(boolean infinite, ResultSet rows, int i) throws SQLException {
        if (infinite) throw new SQLException(rows.getString(i) + " is no point in time: leave such rows out by `query`");
    }

    private static void ofDay(boolean other, ResultSet rows, int i) throws SQLException {
        if (other)
            throw new SQLException(
                    rows.getString(i) + " is no time of a day: set penstock.time.mapping=string, or cast it in `query`");
    }

    /** Null if the column is; MySQL's driver has nothing for 0000-00-00 either. */
    private static <T> T nothing(ResultSet rows, int i) throws SQLException {
        String text = rows.getString(i);
        if (text == null) return null;
        throw new SQLException(text + " is no date: leave such rows out, or cast them, by `query`");
    }

    /** SQLite's texts in ISO 8601; null for anything else, which the driver reads. */
    private static LocalDateTime text(ResultSet rows, int i) throws SQLException {
        if (!(rows.getObject(i) instanceof String text)) return null;
        if (!text.matches("\\d{4}-\\d\\d-\\d\\d([ T]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?)?")) return null;
        try {
            if (text.length() == 10) return LocalDate.parse(text).atStartOfDay();
            return LocalDateTime.parse(text.replace(' ', 'T'));
        } catch (DateTimeException error) {
            throw new SQLException(error.getMessage());
        }
    }

    private static Timestamp moment(long millis, int nanos) {
        Timestamp made = new Timestamp(Math.floorDiv(millis, 1000L) * 1000L);
        made.setNanos(nanos);
        return made;
    }

    /** The local time of the calendar's zone. */
    private LocalDateTime local(Calendar at, long millis, int nanos) {
        if (at == times ? timesUtc : datesUtc)
            return LocalDateTime.ofEpochSecond(Math.floorDiv(millis, 1000L), nanos, ZoneOffset.UTC);
        at.setTimeInMillis(millis);
        int year = at.get(Calendar.YEAR);
        if (at.get(Calendar.ERA) == GregorianCalendar.BC) year = 1 - year;
        return LocalDateTime.of(
                year,
                at.get(Calendar.MONTH) + 1,
                at.get(Calendar.DAY_OF_MONTH),
                at.get(Calendar.HOUR_OF_DAY),
                at.get(Calendar.MINUTE),
                at.get(Calendar.SECOND),
                nanos);
    }

    /** Of whole seconds. In an hour that the clocks skip it is the next one, in one that they repeat the second. */
    private long millis(LocalDateTime value) {
        if (timesUtc) return Math.multiplyExact(value.toEpochSecond(ZoneOffset.UTC), 1000L);
        Calendar at = times;
        at.clear();
        int year = value.getYear();
        at.set(Calendar.ERA, year > 0 ? GregorianCalendar.AD : GregorianCalendar.BC);
        at.set(
                year > 0 ? year : 1 - year,
                value.getMonthValue() - 1,
                value.getDayOfMonth(),
                value.getHour(),
                value.getMinute(),
                value.getSecond());
        return at.getTimeInMillis();
    }
}
