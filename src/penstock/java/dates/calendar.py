"""Days, months and weeks as ``java.util.GregorianCalendar`` counts them: Julian before 15 October 1582, lenient with
fields out of range.

Weeks begin on Sunday and the first week is that of 1 January, as in Java's locale ``en``. All times are UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400_000
_CUTOVER = -141_427
"""The first Gregorian day, counted from 1970-01-01."""
_CUTOVER_YEAR = 1582
SUNDAY = 1


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment, split into its fields. ``year`` is 0 for 1 BC; ``weekday`` is 1 for Sunday to 7."""

    year: int
    month: int
    day: int
    weekday: int
    days: int
    millis: int

    @classmethod
    def of(cls, millis: int) -> Moment:
        days, rest = divmod(millis, DAY)
        year, month, day = civil(days)
        return cls(year, month, day, (days + 4) % 7 + 1, days, rest)

    @property
    def hour(self) -> int:
        return self.millis // 3_600_000

    @property
    def day_of_year(self) -> int:
        return self.days - days_of(self.year, 1, 1) + 1

    @property
    def week_year(self) -> int:
        return self.year + (self.days >= _first_week(self.year + 1))

    @property
    def week_of_year(self) -> int:
        return (self.days - _first_week(self.week_year)) // 7 + 1

    @property
    def weekday_in_month(self) -> int:
        """Number of times that the weekday has occurred in the month."""
        return (self.days - days_of(self.year, self.month, 1)) // 7 + 1

    @property
    def week_of_month(self) -> int:
        return (self.days - _week_of(days_of(self.year, self.month, 1))) // 7 + 1


def days_of(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01; month and day may be out of range, year 0 is 1 BC."""
    years, month = divmod(month - 1, 12)
    year += years
    march_year, march_month = (year, month - 2) if month >= 2 else (year - 1, month + 10)
    before = 365 * march_year + march_year // 4 + (153 * march_month + 2) // 5 - 719_468
    gregorian = before - march_year // 100 + march_year // 400 + day - 1
    return gregorian if gregorian >= _CUTOVER else before - 2 + day - 1


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a count of days from 1970-01-01."""
    if days >= _CUTOVER:
        era, day_of_era = divmod(days + 719_468, 146_097)
        year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
        rest = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
        year = era * 400 + year_of_era
    else:
        era, day_of_era = divmod(days + 719_470, 1461)
        year_of_era = (day_of_era - day_of_era // 1460) // 365
        rest = day_of_era - 365 * year_of_era
        year = era * 4 + year_of_era
    march_month = (5 * rest + 2) // 153
    day = rest - (153 * march_month + 2) // 5 + 1
    return (year, march_month + 3, day) if march_month < 10 else (year + 1, march_month - 9, day)


def _week_of(days: int) -> int:
    """The Sunday on or before this day."""
    return days - (days + 4) % 7


def _first_week(year: int) -> int:
    return _week_of(days_of(year, 1, 1))


def _on_or_before(days: int, weekday: int) -> int:
    return days - (days + 5 - weekday) % 7


@dataclass(slots=True)
class Fields:
    """The fields that a text has set, in the order in which it set them: later ones count where they contradict each
    other.

    Names are those of ``java.util.Calendar``; months count from 0.
    """

    values: dict[str, int]

    @classmethod
    def empty(cls) -> Fields:
        return cls({})

    def set(self, name: str, value: int) -> None:
        self.values.pop(name, None)
        self.values[name] = value

    def get(self, name: str, default: int = 0) -> int:
        return self.values.get(name, default)

    def millis(self) -> int:
        """The moment they name, in milliseconds since 1970, as far as 64 bits hold them."""
        hour = self._hour()
        time = ((hour * 60 + self.get("MINUTE")) * 60 + self.get("SECOND")) * 1000 + self.get("MILLISECOND")
        millis = self._days() * DAY + time - self.get("ZONE_OFFSET")
        return (millis + 2**63) % 2**64 - 2**63

    def _stamps(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.values, 1)}

    def _hour(self) -> int:
        stamps = self._stamps()
        of_day, hour, half = stamps.get("HOUR_OF_DAY", 0), stamps.get("HOUR", 0), stamps.get("AM_PM", 0)
        best = max(max(hour, half) if hour and half else 0, of_day) or max(hour, half)
        return self.get("HOUR_OF_DAY") if best == of_day else self.get("HOUR") + 12 * self.get("AM_PM")

    def _days(self) -> int:
        stamps = self._stamps()
        if stamps.get("WEEK_YEAR", 0) > stamps.get("YEAR", 0):
            return self._week_date()
        year = self.get("YEAR", 1970)
        if self.get("ERA", 1) == 0:
            year = 1 - year
        first = days_of(year, self.get("MONTH") + 1, 1)
        match self._day_field(stamps):
            case "DAY_OF_MONTH":
                day = self.get("DAY_OF_MONTH", 1)
                if year == _CUTOVER_YEAR:  # in October, days behind the first may count in another calendar
                    return days_of(year, self.get("MONTH") + 1, day)
                return first + day - 1
            case "DAY_OF_YEAR":
                return days_of(year, 1, 1) + self.get("DAY_OF_YEAR", 1) - 1
            case "WEEK_OF_YEAR":
                return self._weekday_of(_first_week(year)) + 7 * (self.get("WEEK_OF_YEAR") - 1)
            case "WEEK_OF_MONTH":
                return self._weekday_of(_week_of(first)) + 7 * (self.get("WEEK_OF_MONTH") - 1)
            case _:
                week, weekday = self.get("DAY_OF_WEEK_IN_MONTH", 1), self.get("DAY_OF_WEEK", SUNDAY)
                if week >= 0:
                    return _on_or_before(first + 7 * week - 1, weekday)
                end = days_of(year, self.get("MONTH") + 2, 1)
                return _on_or_before(end + 7 * (week + 1) - 1, weekday)

    def _weekday_of(self, sunday: int) -> int:
        return sunday + (self.get("DAY_OF_WEEK", SUNDAY) - SUNDAY) % 7

    def _week_date(self) -> int:
        week, weekday = self.get("WEEK_OF_YEAR", 1), self.get("DAY_OF_WEEK", SUNDAY)
        if not SUNDAY <= weekday <= 7:  # then it counts from Monday
            weeks, day = divmod(weekday - 1, 7)
            week, weekday = week + weeks, (day + 1) % 7 + SUNDAY
        return _first_week(self.get("WEEK_YEAR")) + 7 * (week - 1) + weekday - SUNDAY

    def _day_field(self, stamps: dict[str, int]) -> str:
        """Return the field that decides on the day: the one set last whose partner is set as well."""

        def stamp(name: str) -> int:
            return stamps.get(name, 0)

        def with_weekday(name: str) -> int:
            return max(stamp(name), stamp("DAY_OF_WEEK")) if stamp(name) and stamp("DAY_OF_WEEK") else 0

        weeks = ("WEEK_OF_MONTH", "DAY_OF_WEEK_IN_MONTH", "WEEK_OF_YEAR")
        of_month, of_year = stamp("DAY_OF_MONTH"), stamp("DAY_OF_YEAR")
        in_month, nth, in_year = map(with_weekday, weeks)
        best = max(of_month, in_month, nth, of_year, in_year)
        if not best:
            in_month, nth, in_year = stamp(weeks[0]), max(stamp(weeks[1]), stamp("DAY_OF_WEEK")), stamp(weeks[2])
            best = max(in_month, nth, in_year)
        if not best:
            return "DAY_OF_MONTH"
        if best == of_month:
            return "DAY_OF_MONTH"
        last_week = stamp("WEEK_OF_YEAR")
        if (best == in_month and stamp(weeks[0]) >= last_week) or (best == nth and stamp(weeks[1]) >= last_week):
            if in_month == nth:
                return weeks[0] if stamp(weeks[0]) >= stamp(weeks[1]) else weeks[1]
            return weeks[0] if best == in_month else weeks[1]
        return "DAY_OF_YEAR" if best == of_year else "WEEK_OF_YEAR"
