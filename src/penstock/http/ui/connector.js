// One connector: its state and what may be done with it, above the section that is chosen.

import { button, confirmed, h, notice, retract, state } from "./dom.js";
import { ask, connectorPath, every, get, principal } from "./rest.js";
import { worst } from "./status.js";
import { overview } from "./connector/overview.js";
import { configuration } from "./connector/configuration.js";
import { offsets } from "./connector/offsets.js";
import { history } from "./connector/history.js";
import { letters } from "./connector/letters.js";
import { records } from "./connector/records.js";
import { logs } from "./connector/logs.js";

const SECTIONS = { overview, configuration, offsets, history, records, "dead-letters": letters, logs };
const TITLES = { overview: "Overview", configuration: "Configuration", offsets: "Offsets", history: "History", records: "Records", "dead-letters": "Dead letters", logs: "Logs" };
const NEEDS = { records: "records", "dead-letters": "dead-letters" };  // actions, without which a section is not offered
const POLL_MS = 2000, HELD_MS = 1000;

/**
 * A section is `(root, connector, signal)`; the connector has `name`, `may(action)`, `status` (the last one),
 * `watch(f)`, which calls f with every new status, `refresh()` and `restarting(status)`.
 */
export async function connector(main, [name, chosen = "overview"], signal) {
  const { actions } = await principal(name);
  const offered = Object.keys(SECTIONS).filter((key) => !(key in NEEDS) || actions.includes(NEEDS[key]));
  if (!offered.includes(chosen)) chosen = "overview";
  const watchers = [];
  let held = 0;
  const now = h("span", {});
  const verbs = h("p", { class: "controls" });
  const root = h("section", { "aria-label": TITLES[chosen] });
  const link = (key) => h("a", {
    href: `#/connector/${encodeURIComponent(name)}/${key}`,
    "aria-current": key === chosen ? "page" : null,
  }, TITLES[key]);
  const nav = h("nav", { class: "sections", "aria-label": "Sections" }, offered.map(link));
  const shown = {
    name,
    status: null,
    may: (action) => actions.includes(action),
    watch: (f) => { watchers.push(f); if (shown.status) f(shown.status); },
    async refresh() {
      if (Date.now() < held) return;
      const status = await get(connectorPath(name, "/status?penstock=true"), signal);
      if (!signal.aborted && Date.now() >= held) draw(status);
    },
    /** Shows the reply to a restart, for long enough to be seen. */
    restarting(status) {
      held = Date.now() + HELD_MS;
      draw({ ...status, penstock: shown.status.penstock });
    },
  };

  function draw(status) {
    shown.status = status;
    const failed = status.tasks.filter((task) => task.state === "FAILED").length;
    now.replaceChildren(state(worst(status)), ` ${status.type}`,
      failed ? h("span", { class: "wrong" }, ` · ${failed} of ${status.tasks.length} tasks failed`) : "");
    drawVerbs(verbs, shown);
    for (const watcher of watchers) watcher(status);
  }

  await untilKnown(shown, signal);
  main.append(h("h1", {}, name, " ", now), verbs, nav, root);
  SECTIONS[chosen](root, shown, signal).catch((error) => {
    if (!signal.aborted) root.append(h("p", { class: "wrong", role: "alert" }, error.message));
  });
  let wrong = "";
  await every(POLL_MS, signal, async () => {
    try {
      await shown.refresh();
      if (wrong) retract(wrong);
      wrong = "";
    } catch (error) {
      if (signal.aborted || error.message === wrong) return;
      wrong = error.message;
      notice(wrong, true);
    }
  });
}

/** The first status; a connector that has just been created has none for a moment. */
async function untilKnown(shown, signal) {
  while (!signal.aborted && !shown.status) {
    try {
      await shown.refresh();
    } catch (error) {
      if (signal.aborted) return;
      await get(connectorPath(shown.name), signal);  // throws if there is no such connector
      if (![400, 404].includes(error.status)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
}

function drawVerbs(root, shown) {
  const { connector: { state: present }, tasks } = shown.status;
  const failed = present === "FAILED" || tasks.some((task) => task.state === "FAILED");
  const key = [present, failed].join();
  if (root.dataset.drawn === key) return;
  root.dataset.drawn = key;
  const verb = (text, method, rest, said) => button(text, async () => {
    const answer = await ask(method, connectorPath(shown.name, rest));
    notice(said);
    if (answer?.connector) shown.restarting(answer);
    else await shown.refresh();
  });
  const operate = shown.may("operate") ? [
    failed && verb("Restart failed", "POST", "/restart?includeTasks=true&onlyFailed=true", "Restarting what has failed"),
    present !== "STOPPED" && verb("Restart with tasks", "POST", "/restart?includeTasks=true&onlyFailed=false", "Restarting the connector and its tasks"),
    present === "PAUSED" || present === "STOPPED"
      ? verb("Resume", "PUT", "/resume", "Resuming")
      : verb("Pause", "PUT", "/pause", "Pausing"),
    present !== "STOPPED" && verb("Stop", "PUT", "/stop", "Stopping: its tasks are shut down, its offsets can be altered"),
  ] : [];
  const remove = shown.may("configure") && button("Delete", async () => {
    if (!(await confirmed(`Delete the connector ${shown.name}? Its offsets are kept.`, "Delete"))) return;
    await ask("DELETE", connectorPath(shown.name));
    location.hash = "#/connectors";
    notice(`Deleted ${shown.name}`);
  }, { class: "danger" });
  const focused = root.contains(document.activeElement) ? document.activeElement.textContent : null;
  root.replaceChildren(...[...operate, remove].filter(Boolean));
  if (focused) ([...root.children].find((each) => each.textContent === focused) ?? root.firstChild)?.focus();
}
