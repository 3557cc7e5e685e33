// Dead letters: which records could not be processed and why, one of them decoded, and their replay.

import { button, confirmed, exclusive, h, notice, table } from "../dom.js";
import { ask, exactly, get, penstockPath } from "../rest.js";
import { trial } from "./preview.js";

const AT_ONCE = 50, MAX = 500;

export async function letters(root, shown) {
  const one = h("div", { "aria-live": "polite" });
  const list = h("div");
  const replaying = exclusive();
  let limit = AT_ONCE;
  root.append(list, one);

  async function draw() {
    const found = await get(penstockPath(shown.name, `/dead-letters?limit=${limit}`));
    if (!found.queue) {
      list.replaceChildren(h("p", {}, "There is no dead letter queue: ", h("code", {}, found.setting), " is not set."));
      return;
    }
    const sink = shown.status.type === "sink";
    const left = found.records.filter((record) => !record.replayed).length;
    const more = button("Show more", () => { limit = Math.min(limit * 3, MAX); return draw(); });
    list.replaceChildren(
      h("p", {}, "Queue ", h("code", {}, found.queue), `: ${found.kept} records, the last ${found.records.length} of this connector are shown.`),
      reasons(found.reasons),
      found.records.length ? table("Dead letters", ["Record", "Time", "Original record", "Stage", "", "Message"], found.records.map((record) => row(record, open))) : "",
      h("p", { class: "controls" },
        found.records.length >= limit && limit < MAX ? more : "",
        sink && left ? replaying("Replay all", () => replay(null)) : "",
        sink ? "" : "Dead letters of a source cannot be replayed: fix the cause, and let it read them again from an earlier offset."));
  }

  async function replay(record) {
    const which = record ? [record] : undefined;
    const planned = await send({ records: which, dry_run: true });
    const targets = planned.replayed.map(({ topic, count }) => `${count} to ${topic}`).join(", ");
    if (!targets) throw new Error(planned.skipped ? planned.skipped_records[0].reason : "There is nothing left to replay");
    const question = `Send ${targets}${planned.complete ? "" : " and more"}? All consumers of the topic receive them, not only ${shown.name}.`;
    if (!(await confirmed(question, "Replay"))) return;
    const done = await send({ records: which });
    notice(`Replayed ${done.replayed.map(({ topic, count }) => `${count} to ${topic}`).join(", ")}${done.complete ? "" : "; more are left"}${done.skipped ? `; ${done.skipped} skipped: ${done.skipped_records[0].reason}` : ""}`);
    one.replaceChildren();
    await draw();
  }

  const send = (body) => ask("POST", penstockPath(shown.name, "/dead-letters/replay"), body);

  async function open(record) {
    const place = record.split("-").slice(-2).join("/");
    const path = penstockPath(shown.name, `/dead-letters/${place}`);
    const letter = await get(path);
    const decoded = h("div", {});
    const decode = button("Decode", async () => {
      decoded.replaceChildren("Reading…");
      const answer = (await get(`${path}?decoded=true`, undefined, exactly)).decoded;
      decoded.replaceChildren(h("p", {}, "Result of the connector's converters and transforms today:"), ...trial(answer));
    });
    const sink = shown.status.type === "sink";
    one.replaceChildren(h("article", { class: "letter", "aria-label": record },
      h("h2", { tabindex: "-1" }, `Record ${record}`),
      h("p", { class: "wrong root" }, `${letter.exception ?? "The reason is unknown: the queue has no context headers"}${letter.message ? `: ${letter.message}` : ""}`),
      h("dl", {}, facts(letter)),
      letter.trace ? h("details", {}, h("summary", {}, "Stack trace"), h("pre", { tabindex: "0" }, letter.trace)) : "",
      h("h3", {}, "Key"), payload(letter.key), h("h3", {}, "Value"), payload(letter.value),
      h("p", { class: "controls" }, sink ? decode : "", sink && !letter.replayed ? replaying("Replay this record", () => replay(record)) : ""),
      decoded));
    one.querySelector("h2").focus();
  }

  await draw();
}

function reasons(found) {
  if (!found.length) return h("p", {}, "There are no dead letters of this connector.");
  const line = ({ count, stage, exception, class: plugin }) => h("li", {}, `${count} × ${stage}: ${exception}${plugin ? ` in ${plugin}` : ""}`);
  return h("ul", { class: "reasons" }, found.map(line));
}

function row(each, open) {
  const original = each.topic ? `${each.topic}-${each.partition ?? "?"}-${each.offset ?? "?"}` : "";
  return [
    button(each.record, () => open(each.record), { "aria-label": `Show ${each.record}` }), time(each.timestamp), original,
    each.stage ?? "", each.replayed ? "replayed" : "", each.message ?? "",
  ];
}

function time(ms) {
  return ms === null ? "" : h("time", { datetime: new Date(ms).toISOString() }, new Date(ms).toLocaleString());
}

function facts(letter) {
  const original = letter.topic ? `${letter.topic}-${letter.partition ?? "?"}-${letter.offset ?? "?"}` : null;
  const headers = letter.headers.map(({ key, value }) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
  const entries = { "Original record": original, Task: letter.task, Stage: letter.stage, Class: letter.class, Headers: headers, Replayed: letter.replayed ? "yes" : "no" };
  return Object.entries(entries).filter(([, text]) => text).map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]);
}

/** JSON indented, other text as it is, and bytes as hexadecimal numbers with the text that is in them. */
function payload(data) {
  if (data === null) return h("p", {}, "null");
  if (typeof data === "object") return h("pre", { tabindex: "0" }, dump(data.base64));
  try {
    return h("pre", { tabindex: "0" }, JSON.stringify(exactly(data), null, 2));
  } catch {
    return h("pre", { tabindex: "0" }, data);
  }
}

function dump(base64) {
  const bytes = [...atob(base64)].map((character) => character.charCodeAt(0));
  const lines = [];
  for (let at = 0; at < bytes.length && at < 4096; at += 16) {
    const part = bytes.slice(at, at + 16);
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}
