// What was changed, by whom, and the way back; what happened to the connector and its tasks.

import { button, confirmed, h, notice, state, table } from "../dom.js";
import { ask, get, penstockPath } from "../rest.js";

const EVENTS = 100;
const KINDS = {
  state: (each, who) => [`${who} `, state(each.state)],
  topic: ({ topic }) => `first used topic ${topic}`,
  skip: ({ topic, partition, first, last, to, cancelled }) =>
    cancelled ? `skip of ${topic}-${partition}@${first}, cancelled` : `skip of ${topic}-${partition}@${first}${last === first ? "" : ` to ${last}`}, ${to === "discard" ? "discarded" : "to the dead letter queue"}`,
  rebalance: ({ times = 1 }) => (times > 1 ? `${times} rebalances of the group` : "rebalance of the group"),
  restart: ({ include_tasks: tasks, only_failed: failed }, who) =>
    `restart of the ${who}${tasks ? " with tasks" : ""}${failed ? ", only what has failed" : ""}`,
};
const CHANGES = { state: "only the target state", configuration: "configuration" };

export async function history(root, shown) {
  const { versions, kept } = await get(penstockPath(shown.name, "/history"));
  const { events } = await get(penstockPath(shown.name, `/events?limit=${EVENTS}`));
  const memory = kept === "in memory" && h("p", {}, "The history is kept in memory: it begins at the worker's start.");
  root.replaceChildren(...[
    memory,
    h("h2", {}, "Versions"),
    versions.length ? h("ol", { class: "versions" }, versions.map((each, i) => version(each, i === 0, root, shown))) : h("p", {}, "None."),
    h("h2", {}, "Events"),
    events.length ? table("Events", ["Time", "What", "Where", "Why"], folded(events).map(event)) : h("p", {}, "None."),
  ].filter(Boolean));
}

function version(each, newest, root, shown) {
  const back = button(`Roll back to version ${each.version}`, async () => {
    if (!(await confirmed(`Apply the configuration of version ${each.version}?`, "Roll back"))) return;
    await ask("POST", penstockPath(shown.name, `/rollback?version=${each.version}`));
    notice(`Applied the configuration of version ${each.version}`);
    setTimeout(() => root.isConnected && history(root, shown).catch((error) => notice(error.message, true)), 1000);
  });
  return h("li", {},
    h("p", {}, h("strong", {}, `Version ${each.version}`), ` · ${CHANGES[each.change] ?? each.change} · `, time(each.time), " · ",
      each.principal ? `by ${each.principal} · ` : "", `target state ${each.state}`),
    diff(each.difference),
    !newest && each.change !== "deleted" && each.change !== "state" && shown.may("configure") && back);
}

function diff({ added, changed, removed }) {
  const line = (key, before, after) => h("li", {}, h("code", {}, key), ": ",
    before !== null && h("del", {}, before), " ", after !== null && h("ins", {}, after));
  const lines = [
    ...Object.entries(changed).map(([key, [before, after]]) => line(key, before, after)),
    ...Object.entries(added).map(([key, after]) => line(key, null, after)),
    ...Object.entries(removed).map(([key, before]) => line(key, before, null)),
  ];
  return lines.length ? h("details", { open: lines.length <= 4 }, h("summary", {}, `${lines.length} ${lines.length === 1 ? "change" : "changes"}`), h("ul", { class: "diff" }, lines)) : null;
}

/** Joins rebalances in a row into one. */
function folded(events) {
  const found = [];
  for (const each of events) {
    const last = found.at(-1);
    if (each.kind === "rebalance" && last?.kind === "rebalance") last.times = (last.times ?? 1) + 1;
    else found.push({ ...each });
  }
  return found;
}

function event(each) {
  const who = each.task === undefined ? "connector" : `task ${each.task}`;
  const what = KINDS[each.kind]?.(each, who) ?? each.kind;
  const [reason] = (each.reason ?? "").split("\n");
  return [time(each.time), what, each.worker ?? "", each.principal ? `by ${each.principal}` : reason];
}

function time(text) {
  const date = new Date(text);
  return h("time", { datetime: text }, Number.isNaN(date.valueOf()) ? text : date.toLocaleString());
}
