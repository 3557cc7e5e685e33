// The workers: who leads, what each runs, and the levels of loggers.

import { button, h, notice, table } from "./dom.js";
import { ask, get, principal } from "./rest.js";

const LEVELS = ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

export async function workers(main, parts, signal) {
  const { actions, actions_on_some: some } = await principal();
  const [root, health, statuses] = await Promise.all([
    get("/", signal).catch((error) => error),
    get("/health", signal).catch((error) => ({ status: "unhealthy", message: error.message })),
    some.includes("view") ? get("/connectors?expand=status", signal) : {},
  ]);
  const leading = actions.includes("view") ? await group() : {};
  main.append(h("h1", {}, "Workers"), about(root, health, leading), h("h2", {}, "Connectors and tasks"), runs(statuses, leading));
  if (actions.includes("admin")) await loggers(main, signal);
}

/** The figures of this worker's group, from its metrics. */
async function group() {
  const answer = await fetch("/metrics");
  if (!answer.ok) return {};
  const text = await answer.text();
  const leader = /^kafka_connect_worker_rebalance_leader_name\{leader_name="([^"]*)"/m.exec(text)?.[1];
  const epoch = /^kafka_connect_worker_rebalance_epoch (\S+)/m.exec(text)?.[1];
  return { leader, epoch, sparks: sparks(text) };
}

/** The Spark applications of this worker: whether each runs, how often it has ended, and the heap of its Java. */
function sparks(text) {
  const of = (name) => new Map([...text.matchAll(new RegExp(`^${name}\\{application="(\\w+)"[^}]*\\} (\\S+)`, "gm"))]
    .filter(([line]) => !line.includes('area="nonheap"')).map(([, application, value]) => [application, Number(value)]));
  const [ended, heap] = [of("kafka_connect_spark_penstock_ended_total"), of("jvm_memory_used_bytes")];
  return [...of("kafka_connect_spark_penstock_running")].map(([application, running]) => [
    `${application}: ${running ? "running" : "not running"}`,
    ended.get(application) ? `ended ${ended.get(application)} times` : "",
    heap.has(application) ? `${Math.round(heap.get(application) / 2 ** 20)} MiB of heap` : "",
  ].filter(Boolean).join(", "));
}

function about(root, health, { leader, epoch, sparks: applications }) {
  const entries = {
    "This worker": location.host,
    Health: `${health.status}: ${health.message}`,
    Leader: leader,
    Generation: epoch && String(Number(epoch)),
    Spark: applications?.join("; "),
    Version: root.version,
    "Kafka cluster": root.kafka_cluster_id,
  };
  return h("dl", {}, Object.entries(entries).filter(([, text]) => text).map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));
}

function runs(statuses, { leader }) {
  const found = new Map();
  const add = (worker, key, state) => {
    if (!worker) return;
    const row = found.get(worker) ?? { connectors: 0, tasks: 0, failed: 0 };
    row[key] += 1;
    row.failed += state === "FAILED";
    found.set(worker, row);
  };
  for (const { status } of Object.values(statuses)) {
    add(status.connector.worker_id, "connectors", status.connector.state);
    for (const task of status.tasks) add(task.worker_id, "tasks", task.state);
  }
  const rows = [...found].sort().map(([worker, row]) => [
    worker + (leader?.includes(worker) ? " (leader)" : ""), String(row.connectors), String(row.tasks), String(row.failed)]);
  return rows.length ? table("Workers", ["Worker", "Connectors", "Tasks", "Failed"], rows) : h("p", {}, "No worker runs a connector.");
}

async function loggers(main, signal) {
  let levels;
  try {
    levels = await get("/admin/loggers", signal);
  } catch (error) {
    if (error.status !== 404) throw error;
    main.append(h("h2", {}, "Loggers"), h("p", {}, "They are at the worker's admin listener."));
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
