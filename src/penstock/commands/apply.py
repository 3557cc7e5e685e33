"""``penstock apply``: make a cluster have the connectors that files describe."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands._output import As, OutputFormat, confirm, printed, say, say_lines
from penstock.commands._rest import URL, Url, User, client, complain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from penstock.core.bulk.selection import Selector
    from penstock.declarative.plan import PlanStep
    from penstock.declarative.resources import Resource
    from penstock.declarative.rollout import Rollout
    from penstock.http.client import Client

app = typer.Typer()

WOULD_CHANGE = 5
"""The exit status of a dry run that found differences."""
ASKS_ABOVE = 3
"""The number of connectors that are pruned in a cluster without asking."""


@app.command()
def apply(
    file: Annotated[
        list[Path],
        typer.Option("--file", "-f", help="File of connectors (.json, .properties, .yaml), or a folder of such files."),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change, and validate it; exit status 5 if anything.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete connectors that `apply` has created and no file describes any more.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help=f"Do not ask before --prune deletes more than {ASKS_ABOVE} connectors.")
    ] = False,
    selector: Annotated[
        str | None, typer.Option("--selector", "-l", help="Only connectors with these labels, of files and cluster.")
    ] = None,
    var: Annotated[
        list[str] | None, typer.Option("--var", help="A value, `name=value`, for `{{ name }}` in the files.")
    ] = None,
    var_file: Annotated[list[Path] | None, typer.Option(help="YAML or JSON files of such names and values.")] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option("--cluster", help="`NAME=URL`: where connectors go whose file names this cluster."),
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait until each changed connector is healthy.")
    ] = 0.0,
    roll_back: Annotated[
        bool, typer.Option("--rollback", help="With --wait: take a change back that does not become healthy.")
    ] = False,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Create, update and delete connectors so that they are as files describe them. Shows the differences first.

    Nothing is changed before the connectors of all clusters are known and all questions are answered.

    A file is JSON as POST /connectors takes it, a JSON or YAML object of settings with a `name`, Java properties, or
    a KafkaConnector resource of Strimzi or Jikkou. Connectors that differ in nothing stay as they are. Connectors that
    are created get the label `managed-by=penstock-apply`; only those that have it are pruned.
    """
    from penstock.core.bulk.selection import Selector
    from penstock.declarative.resources import read_resources
    from penstock.declarative.rollout import Rollout
    from penstock.declarative.variables import variables
    from penstock.http.client_errors import ClientError

    if roll_back and not wait:
        raise typer.BadParameter("--rollback needs --wait: only then is it known whether a change is healthy.")
    chosen = Selector.parse(selector) if selector else None
    if prune and chosen is not None:
        chosen.check_values()
    resources = read_resources(file, variables(var or [], var_file or []))
    statuses = {0}
    steps: list[tuple[str, PlanStep]] = []
    with ExitStack() as clients:
        planned: list[tuple[Client, list[PlanStep]]] = []
        for at, own in _by_cluster(resources, _clusters(cluster or []), url.rstrip("/")).items():
            worker = clients.enter_context(client(at, user))
            planned.append((worker, list(_plan(worker, own, chosen, prune))))
        if not (dry_run or yes):
            for worker, wanted in planned:
                _ask(worker, wanted)
        try:
            for worker, wanted in planned:
                run = Rollout(worker, wait, roll_back, say if output is OutputFormat.TABLE else _silent)
                for step in wanted:
                    steps.append((worker.url, step))
                    statuses.add(_step(run, step, dry_run, output))
        except (ClientError, KeyboardInterrupt):  # what was done before is printed
            if steps:
                _print_steps(steps, output)
            raise
    _print_steps(steps, output)
    if status := 1 if 1 in statuses else max(statuses):
        raise typer.Exit(status)


def _print_steps(steps: Collection[tuple[str, PlanStep]], output: OutputFormat) -> None:
    """Print nothing where a table is wanted: each step has been shown."""
    printed(output, [{"url": url, **step.to_json()} for url, step in steps], [step.name for _, step in steps])


def _ask(worker: Client, steps: Iterable[PlanStep]) -> None:
    """Ask before many connectors are pruned; those that a file wants deleted do not count."""
    from penstock.declarative.plan import PlannedChange

    pruned = [step.name for step in steps if step.change is PlannedChange.DELETE and step.resource is None]
    if len(pruned) > ASKS_ABOVE:
        names = ", ".join(pruned)
        question = f"No file describes {len(pruned)} connectors of {worker.url}: {names}. Delete them?"
        confirm(question)


def _silent(_: str) -> None:
    pass


def _clusters(given: list[str]) -> dict[str, str]:
    clusters = {}
    for pair in given:
        name, separator, url = pair.partition("=")
        if not separator:
            raise typer.BadParameter(f"`--cluster {pair}` is not `NAME=URL`.")
        clusters[name] = url.rstrip("/")
    return clusters


def _by_cluster(resources: Iterable[Resource], clusters: dict[str, str], url: str) -> dict[str, list[Resource]]:
    """The resources by the URL they are for. Without --cluster all go to --url."""
    found: dict[str, list[Resource]] = {each: [] for each in clusters.values()} if clusters else {url: []}
    for resource in resources:
        named = resource.cluster if clusters else None
        if named is not None and named not in clusters:
            raise typer.BadParameter(f"{resource.path} is for the cluster {named}: add --cluster {named}=URL.")
        found.setdefault(url if named is None else clusters[named], []).append(resource)
    for own in found.values():
        _check_names(own)
    return found


def _check_names(resources: list[Resource]) -> None:
    """Two files may describe connectors of one name only for clusters of their own."""
    seen: dict[str, Resource] = {}
    for each in resources:
        other = seen.setdefault(each.name, each)
        if other is not each:
            raise typer.BadParameter(
                f"{other.path} and {each.path} describe connector {each.name}, for the clusters {other.cluster} and "
                f"{each.cluster}: say where each is by --cluster NAME=URL."
            )


def _plan(worker: Client, resources: list[Resource], selector: Selector | None, prune: bool) -> Iterable[PlanStep]:
    from penstock.declarative.plan import plan

    return plan(resources, worker.described(), selector, prune)


def _step(run: Rollout, step: PlanStep, dry_run: bool, output: OutputFormat) -> int:
    """Show and carry out one step; returns the exit status."""
    from penstock.declarative.plan import PlannedChange
    from penstock.http.client_errors import ClientError, WorkerError

    if output is OutputFormat.TABLE:
        _show(step)
    if step.change is PlannedChange.NONE:
        _warn(step)
        return 0
    try:
        errors = _check(run.worker, step)
        _warn(step)
        if not dry_run:
            run.carry_out(step)
            return 0
        step.errors += errors
    except WorkerError as error:
        step.errors.append(str(error))
    except ClientError as error:
        step.errors.append(str(error))
        if error.exit_status != 1:
            raise
    for problem in step.errors:
        complain(f"Connector {step.name}: {problem}")
    return 1 if step.errors else WOULD_CHANGE


def _warn(step: PlanStep) -> None:
    for warning in step.warnings:
        complain(f"Connector {step.name}: warning: {warning}")


def _show(step: PlanStep) -> None:
    from penstock.declarative.plan import PlannedChange

    heads = {
        PlannedChange.CREATE: "Connector {} does not exist yet:",
        PlannedChange.UPDATE: "Connector {} differs:",
        PlannedChange.STATE: "Connector {} is in another state.",
        PlannedChange.DELETE: "Connector {} is described by no file."
        if step.resource is None
        else f"Connector {{}} is to be deleted, says {step.resource.path}.",
        PlannedChange.NONE: "Connector {} is unchanged.",
    }
    say(heads[step.change].format(step.name))
    if step.change in (PlannedChange.CREATE, PlannedChange.UPDATE):
        say_lines(difference(step))


def difference(step: PlanStep) -> Iterable[str]:
    """``- key=value`` for removed and ``+ key=value`` for added settings, sorted by key."""
    present, wanted = step.present or {}, step.wanted or {}
    for key, before, after in step.differences():
        if key in present:
            yield f"  - {key}={'null' if before is None else before}"
        if key in wanted:
            yield f"  + {key}={'null' if after is None else after}"


def _check(worker: Client, step: PlanStep) -> list[str]:
    """Have the worker validate what is wanted; adds its warnings to the step, and returns what it would refuse."""
    from penstock.declarative.plan import PlannedChange

    if step.change not in (PlannedChange.CREATE, PlannedChange.UPDATE):
        return []
    validated = worker.validate(step.wanted or {})
    step.warnings += validated.get("penstock", {}).get("warnings", ())
    values = [config["value"] for config in validated["configs"]]
    # A plugin may leave out values.
    return [error for value in values if value is not None for error in value["errors"]]
