#!PYTHON
"""A target that appends its messages to a file, as the specification describes targets: a state is told when what is
before it is written, here every `every` states and at the end of the input."""

import argparse
import json
import os
import signal
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--config")
with open(parser.parse_args().config) as file:
    config = json.load(file)
state, told = None, 0
with open(config["file"], "a") as out:
    for number, line in enumerate(sys.stdin):
        message = json.loads(line)
        if "log" in config:
            with open(config["log"], "a") as log:
                log.write(f"{os.getpid()} {line}")
        if number == config.get("dies"):
            os.kill(os.getpid(), signal.SIGKILL)
        if number == config.get("fails"):
            sys.stderr.write("no such table\n")
            sys.exit(3)
        if message["type"] == "RECORD":
            out.write(line)
            time.sleep(config.get("pause", 0))
        if message["type"] == "STATE":
            state, told = message["value"], told + 1
            if told % config.get("every", 1) == 0:
                out.flush()
                os.fsync(out.fileno())
                print(json.dumps(state), flush=True)
time.sleep(config.get("stays", 0))
while "waits" in config and not os.path.exists(config["waits"]):
    time.sleep(0.02)
if state is not None and not config.get("silent"):
    print(json.dumps(state), flush=True)
