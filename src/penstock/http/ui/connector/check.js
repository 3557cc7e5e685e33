// Checks of targets: each step of what a configuration names, contacted with its credentials; nothing is changed.

import { button, h, table } from "../dom.js";

const LOOKS = { ok: "RUNNING", failed: "FAILED" };

/** `run` starts a check and returns its reply; `what` is checked. */
export function check(run, what) {
  const answer = h("div", { "aria-live": "polite" });
  const start = button("Check", async () => {
    answer.replaceChildren("Contacting brokers and target…");
    try {
      answer.replaceChildren(...result(await run()));
    } catch (error) {
      answer.replaceChildren(h("p", { class: "wrong", role: "alert" }, error.message));
    }
  });
  return h("section", { class: "check" },
    h("h2", {}, "Check"),
    h("p", {}, `Contacts what ${what} names, with its credentials, from this worker. Nothing is changed or created.`),
    h("p", { class: "controls" }, start),
    answer);
}

function result({ outcome, steps }) {
  const mark = (step) => h("span", { class: `state ${LOOKS[step.outcome] ?? ""}` }, step.outcome);
  const rows = steps.map((step) => [mark(step), step.part, step.step, step.message]);
  const said = outcome === "ok" ? "No step has failed." : "A step has failed.";
  return [h("p", { class: outcome === "ok" ? null : "wrong" }, said), table("Steps of the check", ["Outcome", "Part", "Step", "Message"], rows)];
}
