// The overview of a connector: what is wrong and why, its tasks, figures over time, the topics it has used.

import { button, h, notice, state, table } from "../dom.js";
import { ask, connectorPath, get } from "../rest.js";
import { rootCause, traces } from "../status.js";
import { check } from "./check.js";
import { Figure } from "./figure.js";
import { places, stages } from "./places.js";
import { pendingSkips, skipping } from "./skips.js";

const FIXED = 4;  // columns of the tasks that are shown even if they are empty
const NO_TASKS = { STOPPED: "It is stopped: it has no tasks until it is resumed.", UNASSIGNED: "It has no tasks yet." };

export async function overview(root, shown) {
  const causes = h("div");
  const tasks = h("div");
  const figures = h("div", { class: "figures" });
  const rate = new Figure("Records per second");
  const lag = new Figure("Records behind the end of the topics");
  const where = h("div");
  const times = h("div");
  const topics = h("div");
  const skips = h("div");
  root.append(causes, skips, h("h2", {}, "Tasks"), tasks, figures, where, times, h("h2", {}, "Topics used"), topics);
  if (shown.may("check")) {
    const path = `/penstock/v1/connectors/${encodeURIComponent(shown.name)}/check`;
    root.append(check(() => ask("POST", path), "the configuration of this connector"));
  }
  shown.watch((status) => {
    const changed = drawCauses(causes, shown, status);
    if (status.type === "sink" && (changed || skips.hasChildNodes())) pendingSkips(skips, shown);
    drawTasks(tasks, shown, status);
    const health = status.penstock?.tasks ?? [];
    figures.replaceChildren(...[
      rate.add(sum(health, "records_per_second")),
      lag.add(sum(health, "records_behind") ?? (status.type === "sink" ? sum(health, "records_waiting") : null)),
    ].filter(Boolean));
    places(where, health);
    stages(times, health);
  });
  await drawTopics(topics, shown);
}

function sum(tasks, figure) {
  const known = tasks.map((task) => task[figure]).filter((value) => typeof value === "number");
  return known.length ? known.reduce((a, b) => a + b) : null;
}

/** Returns whether anything has changed. */
function drawCauses(root, shown, status) {
  const found = traces(status);
  const key = JSON.stringify(found);
  if (root.dataset.drawn === key) return false;
  root.dataset.drawn = key;
  const name = encodeURIComponent(status.name);
  root.replaceChildren(...found.map(({ who, happened, trace }) => h("article", { class: "failure" },
    h("h2", {}, `${who} ${happened}`),
    h("p", { class: "root" }, rootCause(trace)),
    skipping(shown, status, trace),
    h("details", {}, h("summary", {}, "Stack trace"), h("pre", { tabindex: "0" }, trace)),
    h("p", {}, h("a", { href: `#/connector/${name}/configuration` }, "Change the configuration"), " · ",
      h("a", { href: `#/connector/${name}/logs` }, "Read the logs")))));
  return true;
}

function drawTasks(root, shown, status) {
  const health = new Map((status.penstock?.tasks ?? []).map((task) => [task.id, task]));
  const key = JSON.stringify([status.tasks, [...health]]);
  if (root.dataset.drawn === key) return;
  root.dataset.drawn = key;
  const restart = (task) => button("Restart", async () => {
    await ask("POST", connectorPath(shown.name, `/tasks/${task.id}/restart`));
    notice(`Restarting task ${task.id}`);
    await shown.refresh();
  }, { "aria-label": `Restart task ${task.id}` });
  const row = (task) => {
    const figures = health.get(task.id) ?? {};
    return [
      String(task.id), state(task.state), shown.may("operate") ? restart(task) : "", task.worker_id,
      number(figures.records), behind(figures), age(figures.newest_record_age_seconds), number(figures.batch_ms_avg),
      lastError(figures.last_error),
    ];
  };
  const heads = ["Task", "State", "", "Worker", "Records", "Behind", "Newest record", "Batch, ms", "Last error"];
  const rows = status.tasks.map(row);
  const shownColumn = (_, i) => i < FIXED || rows.some((cells) => cells[i] !== "");
  const unreachable = status.penstock?.unreachable ?? [];
  const focused = root.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  root.replaceChildren(
    status.tasks.length ? table("Tasks", heads.filter(shownColumn), rows.map((cells) => cells.filter(shownColumn))) : h("p", {}, NO_TASKS[status.connector.state] ?? "It has no tasks."),
    unreachable.length ? h("p", { class: "wrong" }, `No figures from these workers: ${unreachable.join(", ")}`) : "",
  );
  if (focused) root.querySelector(`[aria-label="${focused}"]`)?.focus();
}

/** Lag in records and in time, as far as it is known. */
function behind({ records_behind: records, records_waiting: waiting, seconds_behind: seconds }) {
  return [number(records ?? waiting), typeof seconds === "number" ? `${number(seconds)} s` : ""].filter(Boolean).join(" · ");
}

function lastError(error) {
  return error ? [h("time", { datetime: error.time }, new Date(error.time).toLocaleTimeString()), ` ${error.message}`] : "";
}

function age(seconds) {
  if (typeof seconds !== "number") return "";
  const [count, unit] = seconds < 120 ? [seconds, "s"] : seconds < 7200 ? [seconds / 60, "min"] : [seconds / 3600, "h"];
  return `${Math.round(count).toLocaleString("en")} ${unit} ago`;
}

function number(value) {
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 1 }) : "";
}

async function drawTopics(root, shown) {
  const { topics } = (await get(connectorPath(shown.name, "/topics")))[shown.name];
  const reset = button("Reset this list", async () => {
    await ask("PUT", connectorPath(shown.name, "/topics/reset"));
    notice("The list is reset; topics used from now on are listed");
    await drawTopics(root, shown);
  }, { "aria-label": "Reset the topics used" });
  root.replaceChildren(
    topics.length ? h("ul", { class: "topics" }, topics.sort().map((topic) => h("li", {}, topic))) : h("p", {}, "None yet."),
    topics.length && shown.may("operate") ? h("p", {}, reset) : "",
  );
}
