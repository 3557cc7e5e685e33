"""A broker of a cluster whose controller runs already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.embedded import Broker
from penstock.java.properties import parse_properties


def joining(controller: Path, folder: Path, port: int, extra: Mapping[str, str], node: int = 2) -> Broker:
    """Return a node with its data in ``folder``, which gets the cluster's ID as by formatting. ``controller``: the
    folder of node 1.
    """
    voters = parse_properties((controller / "server.properties").read_text())["controller.quorum.voters"]
    cluster = parse_properties((controller / "data" / "meta.properties").read_text())["cluster.id"]
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id={cluster}\n")
    return Broker(
        folder,
        port,
        extra={**extra, "node.id": str(node), "process.roles": "broker", "controller.quorum.voters": voters},
    )
