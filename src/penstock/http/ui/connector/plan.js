// A reset of a stopped sink's offsets to the beginning, a time or the end: what it would read again or skip, then the reset.

import { button, confirmed, h, notice, table } from "../dom.js";
import { ask, connectorPath, exactly, penstockPath } from "../rest.js";

/** `altered` is called when the offsets have been altered. */
export function plan(shown, altered) {
  const to = h("select", {}, [["earliest", "the beginning"], ["time", "a time"], ["latest", "the end"]]
    .map(([value, text]) => h("option", { value }, text)));
  const time = h("input", { type: "datetime-local", step: "1" });
  const at = h("label", { hidden: true }, "Time ", time);
  const found = h("div", { "aria-live": "polite" });
  to.addEventListener("change", () => { at.hidden = to.value !== "time"; });

  const show = button("Show the offsets", async () => {
    if (to.value === "time" && !time.value) throw new Error("Choose a time");
    found.replaceChildren("Reading the topics…");
    const body = { to: to.value === "time" ? new Date(time.value).toISOString() : to.value };
    try {
      draw(await ask("POST", penstockPath(shown.name, "/offsets/plan"), body, undefined, exactly));
    } catch (error) {
      found.replaceChildren(h("p", { class: "wrong", role: "alert" }, error.message));
    }
  });

  function draw(answer) {
    const rows = answer.offsets.map(({ partition, offset, committed, again, skipped }) => [
      h("code", {}, `${partition.kafka_topic}-${partition.kafka_partition}`), String(committed ?? ""), String(offset.kafka_offset), String(again), String(skipped),
    ]);
    const change = [answer.again && `${answer.again} offsets are read again`, answer.skipped && `${answer.skipped} are skipped`].filter(Boolean).join(", ") || "nothing that is committed is read again or skipped";
    const set = button("Set these offsets", async () => {
      if (!(await confirmed(`Set the offsets of ${shown.name}? When it is resumed, ${change}.`, "Set"))) return;
      const offsets = answer.offsets.map(({ partition, offset }) => ({ partition, offset }));
      notice((await ask("PATCH", connectorPath(shown.name, "/offsets"), { offsets })).message);
      await altered();
    }, { class: "danger" });
    found.replaceChildren(...(rows.length
      ? [table("Planned offsets", ["Partition", "Committed", "New", "Read again", "Skipped"], rows), h("p", {}, `When it is resumed, ${change}.`), h("p", {}, set)]
      : [h("p", {}, "There is nothing to set.")]));
  }

  return h("section", { "aria-label": "Read again or skip" },
    h("h2", {}, "Read again or skip"),
    h("p", { class: "controls" }, h("label", {}, "Continue at ", to), at, show),
    found);
}
