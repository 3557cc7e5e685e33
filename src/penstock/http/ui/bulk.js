// One action on many connectors: a preview in a dialog, and after it the progress with its causes.

import { button, h, safe, state, table } from "./dom.js";
import { ask, get } from "./rest.js";

const PATH = "/penstock/v1/bulk", LOOK_MS = 700;

/** Choices: name, the action, the action of the roles that it needs, and further members of the request. */
export const CHOICES = [
  ["Pause", "pause", "operate"], ["Resume", "resume", "operate"], ["Stop", "stop", "operate"],
  ["Restart", "restart", "operate"], ["Restart what has failed", "restart", "operate", { only_failed: true }],
  ["Change a setting", "set", "configure"], ["Delete", "delete", "configure"],
];
const NAMES = { change: "would change", none: "nothing to change", "under way": "under way" };
/** Actions that Enter, pressed again in the preview, must not take. */
const UNASKED = ["stop", "delete"];
const GRAVE = ["failed", "late", "refused"];

/** Shows the dialog for connectors with these names, or for `of`, a bulk action; returns when it is closed. */
export function bulkDialog(choice, names, of) {
  const [verb, action, , more = {}] = choice;
  const content = h("div", { class: "content" }), buttons = h("p", { class: "controls" });
  const wrong = h("p", { class: "wrong", role: "alert" });
  const dialog = h("dialog", { class: "bulk", "aria-label": `${verb}: ${count(names)}` }, h("h2", {}, `${verb}: ${count(names)}`), content, wrong, buttons);
  const closed = new AbortController();
  const close = button("Cancel", () => dialog.close());
  buttons.append(close);
  document.body.append(dialog);
  const selected = { action, ...more, connectors: names, exact: true, ...(of ? { of } : {}) };

  /** Shows an error in the dialog, since what is outside of a modal dialog is neither seen nor read out. */
  function say(text) {
    if (wrong.textContent !== safe(text)) wrong.textContent = safe(text);
  }

  const failed = (error) => { if (!closed.signal.aborted) say(error.message); };
  const acting = (text, act, attributes) => button(text, () => {
    say("");
    return act().catch(failed);
  }, attributes);

  async function preview(settings) {
    const request = settings ? { ...selected, settings } : selected;
    const found = await ask("POST", PATH, { ...request, dry_run: true });
    const changing = found.connectors.filter((row) => row.result === "change").map((row) => row.connector);
    content.replaceChildren(rows(found, "Preview"), changing.length ? "" : h("p", {}, "Nothing is to be changed."));
    const go = changing.length && acting(`${verb}: ${count(changing)}`, () => run({ ...request, connectors: changing }), { class: "danger" });
    buttons.replaceChildren(...[go, close].filter(Boolean));
    (go && !UNASKED.includes(action) ? go : close).focus();
  }

  async function run(request) {
    let shown = await ask("POST", PATH, request);
    const drawn = h("div"), summary = h("p", { role: "status" });
    close.textContent = "Close";
    content.replaceChildren(summary, drawn);
    buttons.replaceChildren(close);
    close.focus();
    for (;;) {
      const ended = shown.connectors.filter((row) => !["waiting", "under way"].includes(row.result));
      const wrong = ended.filter((row) => GRAVE.includes(row.result)).length;
      summary.textContent = `${shown.ended ? "Ended" : "Under way"}: ${ended.length} of ${shown.connectors.length}, ${wrong ? `${wrong} not done` : "none has failed"}. ID ${shown.id}`;
      drawn.replaceChildren(rows(shown, "Progress"));
      if (shown.ended || closed.signal.aborted) break;
      await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
      try {
        shown = await get(`${PATH}/${shown.id}`, closed.signal);
        say("");
      } catch (error) {
        if (closed.signal.aborted || error.status === 404) throw error;
        say(`The progress can't be read at the moment: ${error.message}`);
      }
    }
    if (shown.ended && ["pause", "stop"].includes(action) && shown.connectors.some((row) => row.result === "done")) {
      buttons.prepend(button("Resume what this has changed…", () => {
        dialog.close();
        bulkDialog(CHOICES[1], shown.connectors.map((row) => row.connector), shown.id);
      }));
    }
  }

  function settings() {
    const key = h("input", { required: true, autocomplete: "off" }), value = h("input", { autocomplete: "off" });
    const remove = h("input", { type: "checkbox" });
    remove.addEventListener("change", () => { value.disabled = remove.checked; });
    content.replaceChildren(h("p", { class: "controls" }, h("label", {}, "Setting ", key), h("label", {}, "New value ", value), h("label", {}, remove, " Remove it")));
    buttons.replaceChildren(acting("Preview", async () => {
      if (key.reportValidity()) await preview({ [key.value.trim()]: remove.checked ? null : value.value });
    }), close);
    key.focus();
  }

  dialog.showModal();
  const begun = action === "set" ? settings() : preview();
  Promise.resolve(begun).catch(failed);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      closed.abort();
      dialog.remove();
      resolve();
    });
  });
}

const count = (names) => `${names.length} connector${names.length === 1 ? "" : "s"}`;

function rows(found, caption) {
  const cell = (row) => h("span", { class: `state ${GRAVE.includes(row.result) ? "FAILED" : row.result === "done" ? "RUNNING" : ""}` }, NAMES[row.result] ?? row.result);
  return table(caption, ["Connector", "State before", "Result", "What"], found.connectors.map((row) => [
    row.connector, row.state ? state(row.state) : "", cell(row), [row.what, row.cause && h("div", { class: "cause" }, row.cause)],
  ]));
}
