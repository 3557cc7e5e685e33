// A configuration tried on real records: what each step makes of them; nothing is written.

import { button, h } from "../dom.js";
import { ask, exactly } from "../rest.js";

/** `request` gives the name and the configuration, or changes of one; `sink`: whether it is a sink's. */
export function preview(request, sink) {
  const number = (attributes) => h("input", { type: "number", min: "0", step: "1", ...attributes });
  const limit = number({ min: "1", max: "100", value: "5", id: "preview-limit" });
  const partition = number({ placeholder: "all" });
  const offset = number({ placeholder: "the last ones" });
  const poll = h("input", { type: "checkbox" });
  const chosen = () => (sink ? { partition: given(partition), offset: given(offset) } : { poll: poll.checked });
  const answer = h("div", { "aria-live": "polite" });
  const run = button("Preview", async () => {
    answer.replaceChildren("Reading records…");
    try {
      const body = { ...request(), limit: Number(limit.value) || 5, ...chosen() };
      const found = await ask("POST", "/penstock/v1/preview", body, undefined, exactly);
      answer.replaceChildren(...trial(found));
    } catch (error) {
      answer.replaceChildren(h("p", { class: "wrong", role: "alert" }, error.message));
    }
  });
  return h("section", { class: "preview" },
    h("h2", {}, "Preview"),
    h("p", {}, "Runs this configuration on real records, step by step. Nothing is written, no offset is committed."),
    h("p", { class: "controls" }, h("label", {}, "Records ", limit),
      sink && h("label", {}, "of partition ", partition), sink && h("label", {}, "from offset ", offset),
      !sink && h("label", {}, poll, " Poll the source, even if that may take records from it"), run),
    answer);
}

/** A number; null if the field is empty. Throws for anything else. */
function given(field) {
  if (!field.checkValidity()) throw new Error(field.validationMessage);
  return field.value === "" ? null : Number(field.value);
}

/** Shows the reply of a preview. */
export function trial({ records, error }) {
  const wrong = error ? [h("p", { class: "wrong", role: "alert" }, typeof error === "string" ? error : `${error.stage ?? ""} ${error.class ?? ""}: ${error.message ?? JSON.stringify(error)}`)] : [];
  if (!records.length && !error) return [h("p", {}, "There are no records to preview.")];
  return [...wrong, ...records.map((record, i) => h("article", { class: "record" },
    h("h3", {}, `Record ${i + 1}`, origin(record.before)),
    h("ol", {}, h("li", {}, "Before: ", value(record.before)), record.steps.map((each) => step(each, record.before))),
    outcome(record)))];
}

function origin(before) {
  const { topic, partition, offset } = before.origin ?? {};
  return offset === undefined ? "" : ` ${topic}-${partition}@${offset}`;
}

/** Adds the topic if it is not the one it had `before`. */
function value(record, before = record) {
  const topic = record.topic === before.topic ? null : record.topic;
  const texts = Object.entries({ topic, key: record.key, value: record.value, headers: record.headers?.length ? record.headers : null })
    .filter(([, each]) => each !== null)
    .map(([name, each]) => [`${name} `, h("code", {}, typeof each === "string" ? each : JSON.stringify(each)), " "]);
  return texts.length ? texts : "null";
}

function step(each, before) {
  const name = `${each.stage}${each.alias ? ` ${each.alias}` : ""} (${each.class.split(".").at(-1)})`;
  if (each.predicate === false) return h("li", {}, `${name}: not applied, its predicate does not match`);
  if (each.records === 0) return h("li", {}, `${name}: drops the record`);
  return h("li", {}, `${name}: `, each.after ? value(each.after, before) : each.changed === false ? "unchanged" : "");
}

function outcome({ result, error }) {
  if (error) return h("p", { class: "wrong" }, `Fails in ${error.stage} (${error.class}): ${error.message}`);
  if (!result) return h("p", {}, "Nothing is written: the record is dropped.");
  const { key, value: bytes } = result.bytes;
  const size = [key !== null && `key ${key} bytes`, bytes !== null && `value ${bytes} bytes`].filter(Boolean).join(", ");
  return h("p", { class: "right" }, `Result: topic ${result.topic}${size ? `, ${size}` : ""}: `, value(result));
}
