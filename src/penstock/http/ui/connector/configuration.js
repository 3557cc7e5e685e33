// The configuration of a connector: as a form and as JSON, what is changed, tried on real records, and saved.

import { button, h, notice } from "../dom.js";
import { ask, connectorPath, get } from "../rest.js";
import { check } from "./check.js";
import { Form } from "./form.js";
import { preview } from "./preview.js";

export async function configuration(root, shown) {
  const original = await get(connectorPath(shown.name, "/config"));
  const { name: _, ...config } = original;
  const changes = h("div", { class: "changes", "aria-live": "polite" });
  const editor = new Editor(shown.name, config, () => draw(), shown.may("configure"));
  const save = button("Save", async () => {
    await ask("PATCH", connectorPath(shown.name, "/config"), difference(config, editor.valid));
    notice("Saved: the connector starts with this configuration");
    location.hash = `#/connector/${encodeURIComponent(shown.name)}`;
  }, { class: "primary" });

  function draw() {
    const changed = Object.entries(difference(config, editor.config));
    const seen = (key, value) => (value && editor.form.isSecret(key) ? "[hidden]" : value);
    const line = ([key, value]) => h("li", {}, h("code", {}, key), ": ", h("del", {}, seen(key, config[key]) ?? ""), " ",
      h("ins", {}, seen(key, value) ?? "(removed)"));
    changes.replaceChildren(changed.length ? h("ul", { tabindex: "0", "aria-label": "Changes" }, changed.map(line)) : "Nothing is changed.");
    save.disabled = !changed.length;
  }

  root.append(editor.root);
  if (shown.may("configure")) {
    const request = () => ({ name: shown.name, patch: difference(config, editor.valid) });
    root.append(h("div", { class: "saving" }, changes, h("p", { class: "controls" }, save)), preview(request, shown.status?.type === "sink"),
      check(() => ask("POST", "/penstock/v1/check", request()), "this configuration"));
    draw();
    await editor.validate();
  } else {
    root.append(h("p", {}, "You may view this configuration, but not change it."));
    editor.showJson();
  }
}

/** Returns the body of `PATCH /connectors/{name}/config`: null removes a setting. */
export function difference(before, after) {
  const changed = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (before[key] !== after[key]) changed[key] = after[key] ?? null;
  }
  return changed;
}

/** A configuration as a form and as JSON; one of them is shown. */
export class Editor {
  constructor(name, config, changed, editable = true) {
    this.form = new Form(name, config, changed, editable);
    this.text = h("textarea", { rows: "16", spellcheck: "false", "aria-label": "Configuration as JSON", readonly: !editable });
    this.wrong = h("p", { class: "wrong", role: "status" });
    this.json = h("div", { hidden: true }, this.text, this.wrong);
    this.switch = button("Edit as JSON", () => (this.json.hidden ? this.showJson() : this.showForm()));
    this.root = h("div", {}, editable && h("p", { class: "controls" }, this.switch), this.form.root, this.json);
    this.text.addEventListener("input", () => this.#read());
  }

  get config() {
    return this.form.config;
  }

  /** Returns what is saved or previewed. Throws while the text that is shown is not a configuration. */
  get valid() {
    if (!this.json.hidden && this.wrong.textContent) throw new Error(this.wrong.textContent);
    return this.config;
  }

  validate() {
    return this.form.validate();
  }

  showJson() {
    this.text.value = JSON.stringify(this.config, null, 2);
    this.wrong.textContent = "";
    this.#choose(true);
  }

  async showForm() {
    this.#choose(false);
    await this.form.validate();
  }

  #choose(json) {
    this.json.hidden = !json;
    this.form.root.hidden = json;
    this.switch.textContent = json ? "Edit as a form" : "Edit as JSON";
  }

  #read() {
    try {
      const given = JSON.parse(this.text.value);
      if (given === null || typeof given !== "object" || Array.isArray(given)) throw new Error("it must be an object");
      const nested = Object.keys(given).find((key) => given[key] !== null && typeof given[key] === "object");
      if (nested !== undefined) throw new Error(`the value of ${nested} must be a text`);
      this.form.config = Object.fromEntries(Object.entries(given).filter(([key, value]) => key !== "name" && value !== null).map(([key, value]) => [key, String(value)]));
      this.wrong.textContent = "";
      this.form.changed(this.config);
    } catch (error) {
      this.wrong.textContent = `This is not a configuration: ${error.message}`;
    }
  }
}
