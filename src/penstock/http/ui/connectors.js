// What needs attention, and all connectors, those that have failed or are in trouble first.

import { attention } from "./attention.js";
import { CHOICES, bulkDialog } from "./bulk.js";
import { button, h, state } from "./dom.js";
import { every, get, principal } from "./rest.js";
import { STATES } from "./states.js";
import { byTrouble, shortCause, traces, troubles, worst } from "./status.js";

const LABEL = "penstock.labels.";
const POLL_MS = 5000, EACH_MS = 16;
const FIRST_ROWS = 60;

export async function connectors(main, parts, signal) {
  const filter = h("input", { type: "search", id: "filter", placeholder: "name, class, state or label", autocomplete: "off" });
  const groups = h("select", { id: "groups" }, h("option", { value: "" }, "nothing"));
  const counts = h("p", { class: "counts" });
  const list = h("div");
  const controls = h("p", { class: "controls" }, h("label", {}, "Filter ", filter), h("label", {}, "Group by label ", groups));
  const urgent = h("section", { "aria-label": "Needs attention" });
  const selection = h("p", { class: "controls" });
  main.append(h("h1", {}, "Connectors"), urgent, controls, counts, selection, list);
  let known = new Map(), shown = [];
  let drawn = "", mayAct = false, lost = null;
  const chosen = new Set();

  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const seen = [...known.values()].filter((each) => words.every((word) => each.text.includes(word))).sort(byTrouble);
    const now = JSON.stringify([groups.value, seen, mayAct]);
    if (now === drawn) return;
    drawn = now;
    shown = seen;
    counts.replaceChildren(...countsOf(seen, known.size));
    if (list.contains(document.activeElement)) lost = document.activeElement.dataset.key;
    list.replaceChildren(...(groups.value ? grouped(seen, groups.value, box, refocus) : [rows(seen, "Connectors", box, refocus)]));
    refocus();
    choose();
  }

  /** Gives the focus back to what had it before the rows were drawn again, unless the user has moved it since. */
  function refocus() {
    if (lost && document.activeElement === document.body) {
      [...list.querySelectorAll("[data-key]")].find((each) => each.dataset.key === lost)?.focus();
    }
    if (document.activeElement !== document.body) lost = null;
  }

  /** The check box of a row, which selects its connector for an action. */
  function box(name) {
    if (!mayAct) return null;
    return h("input", {
      type: "checkbox", checked: chosen.has(name), "aria-label": `Select ${name}`, "data-key": `box ${name}`,
      onchange: (event) => { chosen[event.target.checked ? "add" : "delete"](name); choose(); },
    });
  }

  /** Updates what is said about the selection: only connectors that are shown count. */
  function choose() {
    const there = new Set(shown.map((each) => each.name));
    for (const name of chosen) if (!there.has(name)) chosen.delete(name);
    all.checked = shown.length > 0 && chosen.size === shown.length;
    number.textContent = chosen.size ? `${chosen.size} selected` : "";
    act.hidden = acts.hidden = !chosen.size;
  }

  const all = h("input", { type: "checkbox", onchange: () => {
    chosen.clear();
    if (all.checked) for (const each of shown) chosen.add(each.name);
    drawn = "";
    draw();
  } });
  const number = h("span", { "aria-live": "polite" });
  const acts = h("select", { "aria-label": "Action" });
  const act = button("Preview…", async () => {
    await bulkDialog(CHOICES[acts.value], [...chosen]);
    await refresh();
  });

  async function offerActions() {
    const { actions_on_some: may } = await principal();
    const offered = CHOICES.map(([name, , right], i) => may.includes(right) && h("option", { value: i }, name)).filter(Boolean);
    mayAct = offered.length > 0;
    if (!mayAct) return;
    acts.append(...offered);
    selection.append(h("label", {}, all, " Select all shown"), number, acts, act);
    act.hidden = acts.hidden = true;
    if (known.size) draw();
  }

  filter.addEventListener("input", draw);
  groups.addEventListener("change", draw);
  const pause = () => Math.max(POLL_MS, EACH_MS * known.size);  // many cost the worker more to list
  const attend = attention(urgent, signal);
  offerActions().catch(() => {});  // the list is of use without actions
  await every(pause, signal, () => Promise.all([attend(), refresh()]));

  async function refresh() {
    try {
      known = merged(known, await answer(known, signal));
      offer(groups, known);
      if (!signal.aborted) draw();
    } catch (error) {
      if (!signal.aborted) counts.replaceChildren(h("span", { class: "wrong", role: "alert" }, error.message));
      drawn = "";
    }
  }
}

/** Lists connectors, with configurations if there is one whose configuration is not known yet. */
async function answer(known, signal) {
  if (known.size) {
    const found = await get("/connectors?expand=status&penstock=true", signal);
    if (Object.keys(found).every((name) => known.has(name))) return found;
  }
  return get("/connectors?expand=status&expand=info&penstock=true", signal);
}

function merged(known, found) {
  return new Map(Object.entries(found).map(([name, { status, info }]) => {
    const config = info?.config ?? known.get(name)?.config ?? {};
    return [name, described(name, status ?? { connector: { state: "UNASSIGNED" }, tasks: [], type: info?.type }, config)];
  }));
}

function described(name, status, config) {
  const labels = Object.entries(config).filter(([key]) => key.startsWith(LABEL)).map(([key, value]) => [key.slice(LABEL.length), value]);
  const running = status.tasks.filter((task) => task.state === "RUNNING").length;
  const [first] = traces(status);
  const each = {
    name, config, labels,
    state: worst(status),
    type: status.type,
    class: (config["connector.class"] ?? "").split(".").at(-1),
    tasks: `${running} of ${status.tasks.length}`,
    troubles: troubles(status),
    behind: behind(status.penstock?.tasks ?? []),
    cause: first ? shortCause(first.trace) : "",
  };
  const words = [name, each.class, each.state, each.type, ...each.troubles, ...labels.map(([key, value]) => `${key}=${value}`)];
  return { ...each, text: words.join(" ").toLowerCase() };
}

/** Lag in records if any task knows it, else in seconds for the task that is furthest behind. */
function behind(tasks) {
  const known = (figure) => tasks.map((task) => task[figure]).filter((value) => typeof value === "number");
  const records = known("records_behind"), seconds = known("seconds_behind");
  if (records.length) return records.reduce((a, b) => a + b).toLocaleString("en");
  return seconds.length ? `${Math.round(Math.max(...seconds)).toLocaleString("en")} s` : "";
}

function offer(groups, known) {
  const names = [...new Set([...known.values()].flatMap((each) => each.labels.map(([key]) => key)))].sort();
  const there = [...groups.options].slice(1).map((option) => option.value);
  if (names.join("\n") === there.join("\n")) return;
  const chosen = groups.value;
  groups.replaceChildren(groups.options[0], ...names.map((name) => h("option", { value: name }, name)));
  groups.value = names.includes(chosen) ? chosen : "";
}

function countsOf(seen, all) {
  if (!all) return ["There are no connectors that you may view. ", h("a", { href: "#/create" }, "Create one")];
  const count = (name) => seen.filter((each) => each.state === name).length;
  const parts = STATES.filter(count).map((name) => h("span", {}, state(name), ` ${count(name)} `));
  return [`${seen.length} of ${all}: `, ...parts];
}

function grouped(seen, label, box, late) {
  const of = (each) => each.labels.find(([key]) => key === label)?.[1] ?? "";
  const values = [...new Set(seen.map(of))];  // most urgent first
  return values.map((value) => {
    const members = seen.filter((each) => of(each) === value);
    const title = value ? `${label}=${value}` : `without ${label}`;
    return h("section", {}, h("h2", {}, title), rows(members, title, box, late));
  });
}

function rows(seen, caption, box, late) {
  const heads = ["State", "Name", "Tasks running", "Behind", "Type", "Class", "Labels"];
  const row = (each) => h("tr", {},
    h("td", {}, box(each.name), " ", state(each.state), each.troubles.map((text) => h("div", { class: "warning" }, text))),
    h("td", {}, h("a", { href: `#/connector/${encodeURIComponent(each.name)}`, "data-key": each.name }, each.name),
      each.cause && h("div", { class: "cause" }, each.cause)),
    h("td", { class: "number" }, each.tasks),
    h("td", { class: "number" }, each.behind),
    h("td", {}, each.type),
    h("td", {}, each.class),
    h("td", {}, each.labels.map(([key, value]) => h("span", { class: "label" }, `${key}=${value}`))));
  return h("table", { class: "connectors" }, h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))),
    body(seen.map(row), late));
}

/** Shows a screenful at once, since hundreds take long to lay out, and the rest after it, then calls `late`. */
function body(rows, late) {
  const made = h("tbody", {}, rows.slice(0, FIRST_ROWS));
  if (rows.length > FIRST_ROWS) {
    requestAnimationFrame(() => setTimeout(() => {
      made.append(...rows.slice(FIRST_ROWS));
      late();
    }));
  }
  return made;
}
