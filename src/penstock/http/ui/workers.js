// The workers: who leads, the generation, Spark and the tasks of each, and the levels of loggers.

import { button, h, notice, state, table } from "./dom.js";
import { ask, get, principal } from "./rest.js";
import { byTrouble, worst } from "./status.js";

const LEVELS = ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
const UNFOLDED = 10;  // connectors of a worker that are listed at once

export async function workers(main, parts, signal) {
  const { actions, actions_on_some: some } = await principal();
  const [root, health, statuses, group] = await Promise.all([
    get("/", signal).catch((error) => error),
    get("/health", signal).catch((error) => ({ status: "unhealthy", message: error.message })),
    some.includes("view") ? get("/connectors?expand=status", signal) : {},
    actions.includes("view") ? get("/penstock/v1/workers", signal) : { leader: null, workers: [], unreachable: [] },
  ]);
  main.append(h("h1", {}, "Workers"), about(root, health, group), h("h2", {}, "Connectors and tasks"), each(statuses, group));
  if (actions.includes("admin")) await loggers(main, signal);
}

function about(root, health, { leader, unreachable }) {
  const entries = {
    "This worker": location.host,
    Health: `${health.status}: ${health.message}`,
    Leader: leader,
    "Did not answer": unreachable.join(", "),
    Version: root.version,
    "Kafka cluster": root.kafka_cluster_id,
  };
  return h("dl", {}, Object.entries(entries).filter(([, text]) => text).map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));
}

/** A row for each worker of the group, and for those that have left it and have connectors or tasks still. */
function each(statuses, { leader, workers: known, unreachable }) {
  const runs = runsOf(statuses);
  const described = new Map(known.map((worker) => [worker.worker_id, worker]));
  const names = [...new Set([...described.keys(), ...unreachable, ...runs.keys()])].sort();
  const rows = names.map((name) => [
    name + (name === leader ? " (leader)" : ""),
    String(described.get(name)?.generation ?? ""),
    (described.get(name)?.spark ?? []).map((application) => h("div", {}, spark(application))),
    listed([...(runs.get(name) ?? new Map()).values()]),
  ]);
  return rows.length ? table("Workers", ["Worker", "Generation", "Spark", "Runs"], rows) : h("p", {}, "No worker runs a connector.");
}

function spark({ application, running, ended, heap_bytes: heap }) {
  const times = ended === 1 ? "ended once" : `ended ${ended} times`;
  return [`${application}: ${running ? "running" : "not running"}`, ended && times, heap && `${Math.round(heap / 2 ** 20)} MiB of heap`]
    .filter(Boolean).join(", ");
}

/** Returns the states of what runs, as a status has them, by worker and connector. */
function runsOf(statuses) {
  const found = new Map();
  const at = (worker, name) => {
    const of = found.get(worker) ?? new Map();
    found.set(worker, of);
    if (!of.has(name)) of.set(name, { name, connector: null, tasks: [] });
    return of.get(name);
  };
  for (const [name, { status }] of Object.entries(statuses)) {
    if (!status) continue;  // just created
    if (status.connector.worker_id) at(status.connector.worker_id, name).connector = status.connector;
    for (const task of status.tasks) if (task.worker_id) at(task.worker_id, name).tasks.push(task);
  }
  return found;
}

function listed(runs) {
  const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const connectors = runs.filter((run) => run.connector);
  const tasks = runs.flatMap((run) => run.tasks);
  const failed = [...connectors.map((run) => run.connector), ...tasks].filter((one) => one.state === "FAILED").length;
  const summary = [`${count(connectors.length, "connector")}, ${count(tasks.length, "task")}`,
    failed ? h("span", { class: "wrong" }, `, ${failed} failed`) : ""];
  if (!runs.length) return summary;
  const list = h("ul", { class: "runs" });
  const made = h("details", { open: runs.length <= UNFOLDED }, h("summary", {}, summary), list);
  const fill = () => {
    if (!made.open || list.children.length) return;
    const states = runs.map((run) => ({ ...run, state: worst({ connector: run.connector ?? run.tasks[0], tasks: run.tasks }) }));
    list.append(...states.sort(byTrouble).map(line));
  };
  made.addEventListener("toggle", fill);
  fill();
  return made;
}

/** A connector with its tasks on the worker, those of a state together. */
function line({ name, connector, tasks }) {
  const states = [...new Set(tasks.map((task) => task.state))];
  const of = (each) => tasks.filter((task) => task.state === each).map((task) => task.id);
  const numbers = (ids) => `${ids.length === 1 ? "task" : "tasks"} ${ids.join(", ")} `;
  return h("li", {}, h("a", { href: `#/connector/${encodeURIComponent(name)}` }, name),
    connector && [" connector ", state(connector.state)],
    states.map((each) => [" ", numbers(of(each)), state(each)]));
}

async function loggers(main, signal) {
  let levels;
  try {
    levels = await get("/admin/loggers", signal);
  } catch (error) {
    if (error.status !== 404) throw error;
    main.append(h("h2", {}, "Loggers"), h("p", {}, "The loggers are at the worker's admin listener."));
    return;
  }
  const filter = h("input", { type: "search", autocomplete: "off", placeholder: "name of a logger" });
  const cluster = h("input", { type: "checkbox" });
  const list = h("div");
  const draw = () => {
    const names = Object.keys(levels).filter((name) => name.includes(filter.value)).sort();
    list.replaceChildren(table("Loggers", ["Logger", "Level"], names.map((name) => [name, choice(name)])));
  };
  const choice = (name) => {
    const made = h("select", { "aria-label": `Level of ${name}` }, LEVELS.map((each) => h("option", { value: each }, each)));
    made.value = levels[name].level;
    made.addEventListener("change", () => set(name, made.value).catch((error) => notice(error.message, true)));
    return made;
  };
  const set = async (name, level) => {
    const scope = cluster.checked ? "?scope=cluster" : "";
    await ask("PUT", `/admin/loggers/${encodeURIComponent(name)}${scope}`, { level });
    notice(`${name} logs at ${level} ${cluster.checked ? "on all workers" : "on this worker"}`);
    levels = await get("/admin/loggers", signal);
    if (!scope) draw();
  };
  const other = h("input", { placeholder: "org.apache.kafka.connect", "aria-label": "Another logger" });
  const add = button("Set to DEBUG", () => (other.value.trim() ? set(other.value.trim(), "DEBUG") : other.focus()));
  filter.addEventListener("input", draw);
  main.append(h("h2", {}, "Loggers"),
    h("p", { class: "controls" }, h("label", {}, "Filter ", filter), h("label", {}, cluster, " On all workers"), h("span", {}, other, " ", add)), list);
  draw();
}
