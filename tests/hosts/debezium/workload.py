"""A workload for PostgreSQL of which chance decides everything but the time: the same seed gives the same statements.

Tables: ``everything`` (a column of each type that matters), ``pairs`` (a key of two columns), ``loose`` (no key, the
whole row is its identity), ``outbox``, ``signals`` (Debezium's), and ``marks``, whose rows say that what came before
has arrived.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator

TABLES = ("everything", "pairs", "loose", "marks")

Value = Callable[[random.Random], str]


def _text(chance: random.Random, most: int = 12, letters: str = "abcäßłЖ漢😀'\"\\ \n\t{}") -> str:
    return "".join(chance.choices(letters, k=chance.randrange(most + 1))).replace("'", "''")


def _quoted(value: str) -> str:
    return f"'{value}'"


def _hex(chance: random.Random, n: int) -> str:
    return chance.randbytes(n).hex()


def _date(chance: random.Random) -> str:
    return f"{chance.randrange(1, 2500):04}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"


def _time(chance: random.Random) -> str:
    fraction = chance.choice(["", ".1", ".123", ".123456", ".999999"])
    return f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}{fraction}"


def _zone(chance: random.Random) -> str:
    return chance.choice(["Z", "+02", "-05:30", "+00"])


def _numeric(chance: random.Random) -> str:
    digits = "".join(chance.choices(string.digits, k=chance.randrange(1, 40)))
    return f"{chance.choice(['', '-'])}{digits}.{chance.randrange(10**6)}"


def _array(value: Value) -> Value:
    def made(chance: random.Random) -> str:
        return f"ARRAY[{', '.join(value(chance) for _ in range(chance.randrange(4)))}]"

    return made


COLUMNS: dict[str, tuple[str, Value]] = {
    "flag": ("boolean", lambda r: r.choice(["true", "false"])),
    "small": ("smallint", lambda r: str(r.randrange(-(2**15), 2**15))),
    "large": ("bigint", lambda r: str(r.choice([0, 1, -(2**63), 2**63 - 1, r.randrange(-(2**63), 2**63)]))),
    "single": ("real", lambda r: r.choice(["0", "1.5", "-3.4e38", "'NaN'", "'Infinity'", f"{r.random()}"])),
    "double": ("double precision", lambda r: r.choice(["0", "1e308", "5e-324", "'-Infinity'", f"{r.gauss(0, 1e6)}"])),
    "price": ("numeric(12,3) NOT NULL DEFAULT 1.250", lambda r: f"{r.randrange(-(10**11), 10**11) / 1000:.3f}"),
    "free": ("numeric", _numeric),
    "fee": ("money", lambda r: f"'{r.randrange(10**8) / 100:.2f}'::money"),
    "letter": ("char(5)", lambda r: _quoted("".join(r.choices("abc ", k=5)))),
    "name": ("varchar(40) DEFAULT 'none'", lambda r: _quoted(_text(r))),
    "story": ("text", lambda r: _quoted(_text(r, 300))),
    "blob": ("bytea", lambda r: f"'\\x{_hex(r, r.randrange(30))}'"),
    "day": ("date", lambda r: _quoted(_date(r))),
    "clock": ("time", lambda r: _quoted(_time(r))),
    "clock3": ("time(3)", lambda r: _quoted(_time(r))),
    "zoned": ("timetz", lambda r: _quoted(_time(r) + _zone(r))),
    "moment": ("timestamp", lambda r: _quoted(f"{_date(r)} {_time(r)}")),
    "moment3": ("timestamp(3)", lambda r: _quoted(f"{_date(r)} {_time(r)}")),
    "instant": ("timestamptz", lambda r: _quoted(f"{_date(r)} {_time(r)}{_zone(r)}")),
    "span": ("interval", lambda r: f"'{r.randrange(-9, 9)} years {r.randrange(99)} days {r.randrange(9**6)} seconds'"),
    "token": ("uuid", lambda r: _quoted(_hex(r, 16))),
    "doc": ("json", lambda r: f"""'{{"a": [{r.randrange(9)}, null, "{_hex(r, 3)}"], "b" : {{}}}}'"""),
    "docb": ("jsonb", lambda r: f"""'{{"z": {r.random()}, "a": true}}'"""),
    "tree": ("xml", lambda r: f"'<a b=\"{r.randrange(9)}\">{_hex(r, 2)}</a>'"),
    "address": ("inet", lambda r: f"'10.{r.randrange(256)}.0.1/{r.randrange(8, 33)}'"),
    "network": ("cidr", lambda r: f"'10.{r.randrange(256)}.0.0/16'"),
    "mac": ("macaddr", lambda r: f"'08:00:2b:{r.randrange(10, 99)}:02:03'"),
    "bit1": ("bit(1)", lambda r: f"B'{r.randrange(2)}'"),
    "bits": ("bit(20)", lambda r: f"B'{r.randrange(2**20):020b}'"),
    "varbits": ("bit varying(30)", lambda r: f"B'{r.randrange(2**10):b}'"),
    "place": ("point", lambda r: f"'({r.randrange(99)}.5,{r.randrange(99)})'"),
    "numbers": ("int4range", lambda r: f"'[{r.randrange(5)},{r.randrange(5, 99)})'"),
    "days": ("daterange", lambda r: f"'[2020-01-{r.randrange(1, 20)},2021-01-01)'"),
    "mood": ("mood", lambda r: r.choice(["'sad'", "'ok'", "'very happy'"])),
    "positive": ("positive", lambda r: str(r.randrange(1, 9**9))),
    "ints": ("integer[]", lambda r: f"{_array(lambda c: str(c.randrange(-9, 9)))(r)}::integer[]"),
    "texts": ("text[]", lambda r: f"{_array(lambda c: c.choice(['NULL', _quoted(_text(c))]))(r)}::text[]"),
    "decimals": ("numeric(8,2)[]", lambda r: f"{_array(lambda c: f'{c.randrange(9**5)}.5')(r)}::numeric(8,2)[]"),
    "dates": ("date[]", lambda r: f"{_array(lambda c: _quoted(_date(c)))(r)}::date[]"),
}

SCHEMA = f"""
CREATE TYPE mood AS ENUM ('sad', 'ok', 'very happy');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TABLE everything (
    id integer PRIMARY KEY, {", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())},
    toasted text
);
ALTER TABLE everything ALTER COLUMN toasted SET STORAGE EXTERNAL;
CREATE TABLE pairs (a integer, b text, n bigint, "Mixed Case" text, PRIMARY KEY (a, b));
CREATE TABLE loose (a integer, b text);
ALTER TABLE loose REPLICA IDENTITY FULL;
CREATE TABLE outbox (
    id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text NOT NULL, type text NOT NULL,
    tenant text, payload jsonb
);
CREATE TABLE signals (id text PRIMARY KEY, type text, data text);
CREATE TABLE marks (id integer PRIMARY KEY, twice bigint GENERATED ALWAYS AS (id * 2) STORED);
"""


class Workload:
    """``transactions`` go on where the ones before have ended."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._ids: list[int] = []
        self._pairs: list[int] = []
        self._next = 1
        self._marks = 0
        self.keys_change = True
        """Whether keys of rows are changed, each of which is a deletion and an insertion."""

    def mark(self) -> tuple[int, str]:
        """Return a mark and the statements that set it, in ``marks`` and in the outbox."""
        self._marks += 1
        outbox = self._outbox("mark", str(self._marks))
        return self._marks, f"INSERT INTO marks VALUES ({self._marks});\n{outbox};\n"

    def transactions(self, number: int) -> str:
        return "".join(f"BEGIN;\n{self._transaction()}COMMIT;\n" for _ in range(number))

    def _transaction(self) -> str:
        if self._chance.random() < 0.05:
            # What is rolled back leaves only a gap.
            return f"SAVEPOINT s;\nINSERT INTO pairs VALUES (-1, 'gone', {self._next});\nROLLBACK TO s;\n"
        kinds = (self._insert, self._insert, self._update, self._update, self._delete, self._pair, self._loose)
        return "".join(
            f"{statement};\n"
            for _ in range(self._chance.randrange(1, 6))
            for statement in self._chance.choice((*kinds, self._event, self._rare))()
        )

    def _value(self, name: str) -> str:
        return "NULL" if name != "price" and self._chance.random() < 0.15 else COLUMNS[name][1](self._chance)

    def _insert(self) -> Iterator[str]:
        id, self._next = self._next, self._next + 1
        self._ids.append(id)
        # Incompressible, and so long that it lies outside of the row.
        toasted = _quoted(_hex(self._chance, 3000)) if self._chance.random() < 0.3 else "NULL"
        values = ", ".join(self._value(name) for name in COLUMNS)
        yield f"INSERT INTO everything (id, {', '.join(COLUMNS)}, toasted) VALUES ({id}, {values}, {toasted})"

    def _update(self) -> Iterator[str]:
        if self._ids:
            id = self._chance.choice(self._ids)
            names = self._chance.sample(sorted(COLUMNS), 3)
            yield f"UPDATE everything SET {', '.join(f'{n} = {self._value(n)}' for n in names)} WHERE id = {id}"

    def _delete(self) -> Iterator[str]:
        if len(self._ids) > 5:
            id = self._ids.pop(self._chance.randrange(len(self._ids)))
            yield f"DELETE FROM everything WHERE id = {id}"

    def _pair(self) -> Iterator[str]:
        a = self._chance.randrange(30)
        if a in self._pairs and self._chance.random() < 0.2:
            yield f"DELETE FROM pairs WHERE a = {a}"
            self._pairs.remove(a)
        elif a in self._pairs and not self.keys_change:
            yield f'UPDATE pairs SET "Mixed Case" = {_quoted(_text(self._chance, 3))} WHERE a = {a}'
        elif a in self._pairs:
            yield f"UPDATE pairs SET b = {_quoted(_text(self._chance, 3))}, n = {a} WHERE a = {a}"
        else:
            mixed = self._chance.choice(["1", "NULL"])
            yield f"INSERT INTO pairs VALUES ({a}, 'b', {self._chance.randrange(9)}, {mixed})"
            self._pairs.append(a)

    def _loose(self) -> Iterator[str]:
        a = self._chance.randrange(9)
        b = _quoted(_text(self._chance))
        yield self._chance.choice(
            [
                f"INSERT INTO loose VALUES ({a}, {b})",
                f"UPDATE loose SET b = {b} WHERE a = {a}",
                f"DELETE FROM loose WHERE a = {a}",
            ]
        )

    def _event(self) -> Iterator[str]:
        yield self._outbox(self._chance.choice(["order", "customer"]), str(self._chance.randrange(9)))

    def _outbox(self, kind: str, aggregate: str) -> str:
        tenant = self._chance.choice(["'t1'", "NULL"])
        payload = (
            f"""'{{"n": {self._chance.randrange(99)}, "s": "ä", "l": [{{"x": 1}}], "f": 1.5, "o": {{"p": null}}}}'"""
        )
        row = f"'{_hex(self._chance, 16)}', '{kind}', '{aggregate}', 'Happened', {tenant}, {payload}"
        return f"INSERT INTO outbox VALUES ({row});\nDELETE FROM outbox"

    def _rare(self) -> Iterator[str]:
        if self._chance.random() < 0.1:
            yield "TRUNCATE loose"
        else:
            yield f"SELECT pg_logical_emit_message(true, 'prefix', '{_hex(self._chance, 4)}')"
