// What needs attention: the block on top of the list of connectors, the most urgent first.

import { button, h, notice } from "./dom.js";
import { ask, connectorPath, get } from "./rest.js";

/** Names of kinds as they are shown; a kind that the page does not know has its own name. */
const KINDS = {
  failed: "Failed", unreachable: "Unreachable", unknown: "Unknown", stalled: "Stalled", retrying: "Retrying",
  "missing-topics": "Missing topics", standstill: "Lag stands still", "partition-standstill": "A partition stands still",
  silent: "Silent", behind: "Falling behind", "no-tasks": "No tasks", waiting: "Waiting", flapping: "Flapping", "dead-letters": "Refused records",
  expiring: "Certificate expires", outdated: "Credentials have changed", versions: "Versions differ",
  executors: "Executors are unfit", ignored: "Settings without effect", stopped: "Stopped", paused: "Paused",
};
const GRAVE = ["failed", "unreachable"], CALM = ["paused", "stopped"];
const FIRST_ROWS = 10;

/** What a row's button does: its text, the request, and what is said afterwards. */
const VERBS = {
  "restart-failed": ["Restart failed", "POST", "/restart?includeTasks=true&onlyFailed=true", "Restarting what has failed of"],
  restart: ["Restart", "POST", "/restart?includeTasks=true", "Restarting"],
  resume: ["Resume", "PUT", "/resume", "Resuming"],
};
const VIEWS = { logs: "Logs", configuration: "Configuration", overview: "Overview", history: "History", "dead-letters": "Dead letters" };

/** Makes the block in `root`. The result is a function that reads the rows and draws them. */
export function attention(root, signal) {
  let drawn = "", all = false;

  function draw(rows, problem) {
    const now = JSON.stringify([rows, problem, all]);
    if (now === drawn) return;
    drawn = now;
    const focused = root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const shown = all ? rows : rows.slice(0, FIRST_ROWS);
    const more = rows.length > shown.length && button(`Show all ${rows.length}`, () => { all = true; draw(rows, problem); }, { "data-key": "all" });
    root.replaceChildren(
      h("h2", {}, "Needs attention"),
      problem ? h("p", { class: "wrong", role: "alert" }, `What needs attention is not known: ${problem}`) : "",
      rows.length ? h("ul", { class: "attention", "aria-label": "Needs attention" }, shown.map(row)) : "",
      !rows.length && !problem ? h("p", { class: "right" }, "Nothing needs attention.") : "",
      more ? h("p", {}, more) : "",
    );
    if (focused) [...root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  }

  function row(each) {
    const where = each.connector ? link(each, "overview", each.connector) : each.worker;
    const tasks = each.tasks.length ? ` ${each.tasks.length === 1 ? "task" : "tasks"} ${each.tasks.join(", ")}` : "";
    const { text, command, action } = each.next;
    return h("li", {},
      h("p", {}, kind(each.kind), " ", where, tasks, h("span", { class: "since" }, " · ", lasting(each.since))),
      h("p", { class: "why" }, each.why),
      h("p", { class: "step" }, step(each, action), h("span", {}, text), command && h("code", {}, command)));
  }

  /** A button or a link for a row's next step; "" without one, as for actions that the user may not take. */
  function step(each, action) {
    if (action === "workers") return h("a", { href: "#/workers", "data-key": key(each) }, "Workers");
    if (!each.connector) return "";
    if (VIEWS[action]) return link(each, action, VIEWS[action]);
    if (!VERBS[action]) return "";
    const [name, method, rest, said] = VERBS[action];
    return button(name, async () => {
      await ask(method, connectorPath(each.connector, rest));
      notice(`${said} ${each.connector}`);
      await refresh();
    }, { "aria-label": `${name}: ${each.connector}`, "data-key": key(each) });
  }

  async function refresh() {
    try {
      const { rows } = await get("/penstock/v1/attention", signal);
      if (!signal.aborted) draw(rows, "");
    } catch (error) {
      if (!signal.aborted) draw([], error.message);
    }
  }

  return refresh;
}

const key = (each) => `${each.kind} ${each.connector} ${each.tasks} ${each.next.action} ${each.kind === "expiring" ? each.why : ""}`;
const link = (each, section, text) => h("a", {
  href: `#/connector/${encodeURIComponent(each.connector)}/${section}`, "data-key": `${section} ${key(each)}`,
}, text);
const kind = (name) => h("span", { class: `state ${GRAVE.includes(name) ? "FAILED" : CALM.includes(name) ? "" : "RESTARTING"}` }, KINDS[name] ?? name);

/** How long it has lasted; the time itself is in a title, since it does not change. */
function lasting(since) {
  if (!since) return "since when is not known";
  const minutes = Math.max(0, Math.round((Date.now() - Date.parse(since)) / 60000));
  const [count, unit] = minutes < 120 ? [minutes, "min"] : minutes < 2880 ? [Math.round(minutes / 60), "h"] : [Math.round(minutes / 1440), "days"];
  return h("time", { datetime: since, title: new Date(since).toLocaleString() }, minutes ? `for ${count} ${unit}` : "just now");
}
