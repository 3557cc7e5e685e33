// The records that a failed sink names, each with buttons to skip it, and the skips that have not taken effect.

import { button, confirmed, h, notice } from "../dom.js";
import { ask, get, penstockPath } from "../rest.js";

const NOTE = /^\tIn (?:a put of |stage |the row of )/, KEY = /key "(?:[^"\\]|\\.)*"/g;  // lines that name records; a key is its producer's text
const NAMED = /topic ([\w.-]+), partition (\d{1,10}), offset (\d{1,18})(?!\d)/g;
const MAX_NAMED = 10;
const TARGETS = { "dead-letters": "to the dead letter queue", discard: "and discard it" };

/** The records of a sink that a trace names, at most ten. */
function named(trace) {
  const found = new Map();
  const notes = trace.split("\n").filter((line) => NOTE.test(line)).map((note) => note.replace(KEY, "")).join("\n");
  for (const [, topic, partition, offset] of notes.matchAll(NAMED)) {
    found.set(`${topic}-${partition}@${offset}`, { topic, partition: Number(partition), offsets: [offset] });
  }
  return [...found].slice(0, MAX_NAMED);
}

/** Returns a list of the records that may be skipped, or null. */
export function skipping(shown, status, trace) {
  if (status.type !== "sink" || !shown.may("skip")) return null;
  const records = named(trace);
  if (!records.length) return null;
  const skip = (place, record, to) => button(to === "discard" ? "Skip and discard" : "Skip to dead letters", async () => {
    const question = `Skip ${place} ${TARGETS[to]}? The connector's tasks start again and leave it out.`;
    if (!(await confirmed(question, "Skip"))) return;
    await ask("POST", penstockPath(shown.name, "/skips"), { ...record, to });
    notice(`Skipping ${place}: the tasks start again`);
    await shown.refresh();
  }, { "aria-label": `Skip ${place} ${TARGETS[to]}` });
  return h("ul", { class: "skips", "aria-label": "Records that may have failed" }, records.map(([place, record]) =>
    h("li", {}, h("code", {}, place), " ", skip(place, record, "dead-letters"), " ", skip(place, record, "discard"))));
}

/** Shows the skips that have not taken effect, with a button to forget them, or why they could not be read. */
export async function pendingSkips(root, shown) {
  let skips = [];
  try {
    ({ skips } = await get(penstockPath(shown.name, "/skips")));
  } catch (error) {
    root.dataset.skips = "";
    root.replaceChildren(h("p", {}, `The records to be skipped could not be read: ${error.message}`));
    return;
  }
  // A list that has not changed stays, and with it the focus on its button.
  if (root.dataset.skips === JSON.stringify(skips)) return;
  root.dataset.skips = JSON.stringify(skips);
  const cancel = button("Forget them", async () => {
    await ask("DELETE", penstockPath(shown.name, "/skips"));
    notice("Forgotten; tasks that know of them forget them when they start again");
    await pendingSkips(root, shown);
  }, { "aria-label": "Forget the skips" });
  const line = ({ topic, partition, first, last, to }) =>
    h("li", {}, h("code", {}, `${topic}-${partition}@${first === last ? first : `${first} to ${last}`}`), ` ${to}`);
  root.replaceChildren(...skips.length ? [
    h("h2", {}, "Records to be skipped"), h("ul", {}, skips.map(line)), shown.may("skip") ? h("p", {}, cancel) : "",
  ] : []);
}
