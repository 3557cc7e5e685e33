// Records of the topics that a sink reads or a source has written to, decoded by the connector's converters.

import { button, h, table } from "../dom.js";
import { exactly, get, penstockPath } from "../rest.js";

const LIMIT = 50;

export async function records(root, shown) {
  root.replaceChildren(h("p", { "aria-live": "polite" }, "Reading records…"));
  let known;
  try {
    known = await read(shown.name, { limit: LIMIT });
  } catch (error) {
    root.replaceChildren(
      h("p", { class: "wrong", role: "alert" }, error.message),
      h("p", { class: "controls" }, button("Try again", () => records(root, shown))));
    return;
  }
  root.replaceChildren();
  const sink = known.direction === "in";
  root.append(h("p", {}, sink ? "Topics that it reads" : "Topics that it has written to", ", on ", h("code", {}, known.cluster), ". Nothing is committed."));
  if (!known.topics.length) {
    root.append(h("p", {}, "No topic is known yet."));
    return;
  }
  const topic = h("select", {}, known.topics.map((name) => h("option", { value: name }, name)));
  const from = h("select", {}, [["latest", "the last records"], ["earliest", "the beginning"], ["time", "a time"], ["offset", "an offset"]]
    .map(([value, text]) => h("option", { value }, text)));
  const time = h("input", { type: "datetime-local", step: "1" });
  const offset = h("input", { type: "number", min: "0", step: "1" });
  const partition = h("input", { type: "number", min: "0", step: "1", placeholder: "all" });
  const search = h("input", { type: "search", maxlength: "1000" });
  const at = h("label", { hidden: true }, "Time ", time), place = h("label", { hidden: true }, "Offset ", offset);
  from.addEventListener("change", () => {
    at.hidden = from.value !== "time";
    place.hidden = from.value !== "offset";
  });
  const found = h("div", { "aria-live": "polite" });
  const one = h("div", { "aria-live": "polite" });

  /** Where to begin. Throws for what the worker would refuse. */
  function start() {
    if (from.value === "time") {
      if (!time.value) throw new Error("Choose a time");
      return new Date(time.value).toISOString();
    }
    if (from.value !== "offset") return from.value;
    if (partition.value === "" || offset.value === "") throw new Error("An offset needs its partition");
    return `${partition.value}:${offset.value}`;
  }

  async function show(begin) {
    one.replaceChildren();
    found.replaceChildren("Reading records…");
    try {
      const query = { topic: topic.value, from: begin, partition: partition.value, search: search.value, limit: LIMIT };
      draw(await read(shown.name, query));
    } catch (error) {
      found.replaceChildren(h("p", { class: "wrong", role: "alert" }, error.message));
    }
  }

  function draw(answer) {
    const rows = answer.records.map((record) => [
      button(`${record.partition}-${record.offset}`, () => open(record), { "aria-label": `Show ${answer.topic}-${record.partition}-${record.offset}` }),
      written(record.timestamp), short(record.key), record.errors.length ? h("span", { class: "wrong" }, record.errors[0].message) : short(record.value),
    ]);
    found.replaceChildren(...[
      rows.length ? table("Records", ["Record", "Time", "Key", "Value"], rows) : h("p", {}, search.value ? "No record with this text was found." : "There are no records."),
      h("p", { class: "controls" }, `${answer.scanned} records were read${answer.complete ? "." : "; there are more."}`,
        answer.next && button("Go on", () => show(answer.next))),
      answer.masked.length && h("p", {}, `Masked, as the connector's transforms do: ${answer.masked.join(", ")}.`),
      answer.hidden.length && h("p", {}, `Masked whole, since masked fields may be there: ${answer.hidden.join(", ")}, and what has no fields.`),
    ].filter(Boolean));
  }

  function open(record) {
    const name = `Record ${topic.value}-${record.partition}-${record.offset}`;
    const part = (title, value, schema) => [h("h3", {}, title, schema ? ` (${schema})` : ""), h("pre", { tabindex: "0" }, long(value))];
    one.replaceChildren(h("article", { class: "letter", "aria-label": name },
      h("h2", { tabindex: "-1" }, name),
      record.errors.map(({ stage, class: plugin, message }) => h("p", { class: "wrong" }, `${stage} (${plugin}): ${message}`)),
      part("Key", record.key, record.key_schema), part("Value", record.value, record.value_schema),
      record.headers.length ? part("Headers", record.headers.map(([key, value]) => `${key}: ${text(value)}`).join("\n")) : ""));
    one.querySelector("h2").focus();
  }

  const go = button("Show records", () => show(start()));
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") go.click(); });
  root.append(
    h("p", { class: "controls" }, h("label", {}, "Topic ", topic), h("label", {}, "from ", from), at, place,
      h("label", {}, "of partition ", partition), h("label", {}, "with the text ", search), go),
    found, one);
  if (known.topic) draw(known);
}

function read(name, given) {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ""));
  return get(penstockPath(name, `/records?${query}`), undefined, exactly);
}

function written(ms) {
  return ms === null ? "" : h("time", { datetime: new Date(ms).toISOString() }, new Date(ms).toLocaleString());
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const short = (value) => (value === null ? "" : text(value).length > 200 ? `${text(value).slice(0, 200)}…` : text(value));
const long = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
