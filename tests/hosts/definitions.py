"""Configurations of the plugins of the jar ``defined``, and a worker's answers to them.

    python definitions.py URL | gzip -9n > golden/definitions.json.gz

records the answers of a worker of Java Connect that has just started, with this jar, and no other, in its
``plugin.path``. A worker that has been asked before may omit the messages of its NullPointerExceptions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx

PACKAGE = "penstock.tests.defined."
SOURCE = f"{PACKAGE}DefinedSource"
BARE = f"{SOURCE}$Bare"
NULL: Any = None
Config = dict[str, Any]
Question = tuple[str, str, Config | None]
"""Method, path and body of a request."""

OWN: dict[str, Config] = {
    "as it should be": {},
    "without what is required": {"own.required": NULL},
    "other types": {
        "own.int": "x",
        "own.short": "99999",
        "own.long": "1.5",
        "own.double": "much",
        "own.boolean": "yes",
        "own.class": "no.such.Class",
        "own.no.class": "java.util.List",
    },
    "out of range": {
        "own.int": "11",
        "own.short": "0",
        "own.double": "2",
        "own.composite": "1",
        "own.list": "a,b,c",
        "own.listed": "w",
        "own.distinct": "x,x",
        "own.required": "",
        "own.name": "a\u0001b",
        "own.password": "abc",
        "own.colour": "green",
        "own.choice": "c",
        "own.lambda": "bad",
    },
    "blanks": {
        "own.int": " 4 ",
        "own.boolean": " FALSE ",
        "own.list": " a , b ",
        "own.listed": "x, x",
        "own.name": " n ",
        "own.class": " java.lang.String ",
        "own.double": " 1e-3 ",
        "own.required": " ",
        "own.colour": " RED ",
    },
    "nothing": {"own.list": "", "own.distinct": "", "own.int": "", "own.class": "", "own.password": "", "own.long": ""},
    "the other way round": {
        "own.int": "6",
        "own.class": "java.lang.Integer",
        "own.list": "hide",
        "own.password": "a longer one",
        "own.boolean": "false",
        "own.colour": "BLUE",
        "own.double": "1",
    },
    "of old": {"own.choice.of.old": "b", "own.unheard.of": "x"},
    **{
        mode: {"own.mode": mode}
        for mode in (
            *("immutable", "throw", "throw.nothing", "error", "config", "null", "holes", "numbers"),
            *("invisible", "invisible.throw", "invisible.config"),
        )
    },
    **{f"lambda {what}": {"own.lambda": what} for what in ("throw", "throw.nothing", "error")},
}
NULLS = {f"null {name}": {f"own.{name}": NULL} for name in ("nonnull", "colour", "int", "list", "password", "mode")}
VALIDATE = (
    *("null", "null values", "nothing", "throw", "config", "adds", "unknown", "of connect", "twice", "reversed"),
    *("changed", "wrong type", "no list", "hole", "invisible"),
)
VARIANTS = ("Ghost", "Null", "Throwing", "Failing", "OfConfig")
PLACES = {
    "transform": ("Transform", "transforms.t.", "type", {"transforms": "t"}),
    "predicate": ("Predicate", "predicates.p.", "type", {"predicates": "p"}),
    "key converter": ("Converter", "key.converter", "", {}),
    "header converter": ("Converter", "header.converter", "", {}),
}


def connector(own: Config, kind: str = SOURCE) -> Config:
    return {"name": "defined", "connector.class": kind, **given({"own.required": "r", **own})}


def given(own: Config) -> Config:
    """Drop a required setting without a value; others may be null."""
    return {key: value for key, value in own.items() if (key, value) != ("own.required", None)}


def placed(place: str, own: Config, variant: str = "") -> Config:
    """Return the configuration of a connector without its own settings, with the plugin in this place."""
    name, prefix, type_key, more = PLACES[place]
    between = "" if type_key else "."
    settings = {f"{prefix}{between}{key}": value for key, value in given({"own.required": "r", **own}).items()}
    kind = f"{PACKAGE}Defined{name}{variant and f'${variant}'}"
    return {"name": "defined", "connector.class": BARE, **more, f"{prefix}{type_key}": kind, **settings}


def configurations() -> Iterator[tuple[str, Config]]:
    for case, own in {**OWN, **NULLS}.items():
        yield f"connector, {case}", connector(own)
    for case in VALIDATE:
        yield f"validate, {case}", connector({"validate": case})
    for variant in VARIANTS:
        yield f"connector {variant}", connector({}, f"{SOURCE}${variant}")
    for place in PLACES:
        for case, own in OWN.items():
            yield f"{place}, {case}", placed(place, own)
        yield f"{place}, null value", placed(place, NULLS["null colour"])
        for variant in VARIANTS:
            yield f"{place} {variant}", placed(place, {}, variant)


CREATED = (
    *("connector, as it should be", "connector, out of range", "connector, throw", "connector, error"),
    *("validate, adds", "validate, null", "validate, unknown", "validate, throw"),
    *("transform, as it should be", "transform, out of range", "transform, throw"),
    *("transform, without what is required", "predicate, out of range", "predicate, config"),
    *("key converter, out of range", "header converter, throw"),
    *("transform Throwing", "predicate Null", "key converter Throwing", "key converter Null", "transform Ghost"),
)
"""Names of the configurations with which a connector is created."""


def questions() -> dict[str, Question]:
    found: dict[str, Question] = {}
    for kind in ("Source", "Transform", "Predicate", "Converter"):
        for variant in ("", *VARIANTS):
            name = f"{PACKAGE}Defined{kind}{variant and f'${variant}'}"
            found[f"definitions of {kind} {variant}".strip()] = ("GET", f"/connector-plugins/{name}/config", None)
    named = dict(configurations())
    for case, config in named.items():
        path = f"/connector-plugins/{config['connector.class']}/config/validate"
        found[f"validation: {case}"] = ("PUT", path, config)
    for case in CREATED:
        found[f"creation: {case}"] = ("POST", "/connectors", {"name": "defined", "config": named[case]})
    return found


def ask(http: httpx.Client, case: str, question: Question) -> Any:
    """Return the status, and the body if it is JSON. A validation is reduced to the plugin's own settings and the
    errors of others; the definitions of others, which are always the same, are kept only for a valid configuration.
    """
    method, path, body = question
    answer = http.request(method, path, json=body)
    if answer.status_code == 201:
        http.delete("/connectors/defined").raise_for_status()
        return [201]
    json_type = answer.headers.get("content-type", "").startswith("application/json")
    found = answer.json() if json_type else None
    if method == "GET" and isinstance(found, list):
        found = [each for each in found if "own." in each["name"]]
    elif isinstance(found, dict) and "configs" in found:
        found["configs"] = [shown(each, case.endswith("as it should be")) for each in found["configs"]]
    return [answer.status_code, found]


def shown(each: Any, with_definition: bool) -> Any:
    name: str = (each["definition"] or each["value"])["name"]
    if "own." not in name:
        return [name, *each["value"]["errors"]]
    return each if with_definition else each["value"]


def answers(http: httpx.Client) -> dict[str, Any]:
    return {case: ask(http, case, question) for case, question in questions().items()}


if __name__ == "__main__":
    with httpx.Client(base_url=sys.argv[1], timeout=95) as client:
        rows = (f"{json.dumps(case)}: {json.dumps(answer)}" for case, answer in answers(client).items())
        print("{" + ",\n".join(rows) + "}")
