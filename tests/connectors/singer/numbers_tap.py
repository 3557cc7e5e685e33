#!PYTHON
"""A tap of numbers, as the specification describes taps: what it has sent is in its state every `every` records."""

import argparse
import json
import os
import sys
import time

STREAMS = {
    "orders": {"id": {"type": "integer"}, "price": {"type": ["number", "null"]}, "note": {"type": ["null", "string"]}},
    "users": {"name": {"type": "string"}},
}
KEYS = {"orders": ["id"], "users": []}


def write(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


parser = argparse.ArgumentParser()
for option in ("config", "catalog", "state"):
    parser.add_argument(f"--{option}")
parser.add_argument("--discover", action="store_true")
given = parser.parse_args()
with open(given.config) as file:
    config = json.load(file)
if given.discover:
    streams = [
        {"stream": name, "tap_stream_id": name, "schema": {"type": "object", "properties": fields}}
        for name, fields in STREAMS.items()
    ]
    print(json.dumps({"streams": streams}))
    sys.exit()
if "log" in config:
    with open(config["log"], "a") as file:
        file.write(f"{os.getpid()} {sorted(os.environ)}\n")
with open(given.catalog) as file:
    chosen = [each["stream"] for each in json.load(file)["streams"] if each["schema"]["selected"]]
state = {}
if given.state:
    with open(given.state) as file:
        state = json.load(file)
for name in chosen:
    write(type="SCHEMA", stream=name, schema={"properties": STREAMS[name]}, key_properties=KEYS[name])
if "users" in chosen and not state.get("users"):
    write(type="RECORD", stream="users", record={"name": "Ada"})
    state["users"] = True
    write(type="STATE", value=state)
begin = state.get("orders", 0)
for number in range(begin, config["to"] if "orders" in chosen else 0):
    write(type="RECORD", stream="orders", record={"id": number, "price": number / 2, "more": 1})
    if (number + 1) % config.get("every", 1) == 0:
        state["orders"] = number + 1
        write(type="STATE", value=state)
    time.sleep(config.get("pause", 0))
if "words" in config:
    sys.stderr.write(config["words"] + "\n")
    sys.exit(3)
time.sleep(config.get("stays", 0))
