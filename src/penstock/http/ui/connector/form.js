// A configuration as a form, made from the worker's own answer to its validation: groups, order, documentation,
// recommended values, and the errors of each setting while the user types.

import { debounced, documented, h, notice, retract } from "../dom.js";
import { ask } from "../rest.js";

const PAUSE_MS = 350;
const OWN = "Settings of the connector", CONVERTERS = "Converters", OTHER = "Other settings";

/** `config` is what the form begins with; `changed` is called with every valid or invalid state of it. */
export class Form {
  constructor(name, config, changed, editable = true) {
    Object.assign(this, { name, changed, editable, config: { ...config } });
    this.fields = new Map();
    this.all = h("input", { type: "checkbox" });
    this.search = h("input", { type: "search", placeholder: "name of a setting", autocomplete: "off" });
    this.problems = h("p", { role: "status" });
    this.groups = h("div");
    this.root = h("form", { class: "settings", onsubmit: (event) => event.preventDefault() },
      h("p", { class: "controls" }, h("label", {}, "Find ", this.search), h("label", {}, this.all, " Show all settings")),
      this.problems, this.groups);
    this.all.addEventListener("change", () => this.#select());
    this.search.addEventListener("input", () => this.#select());
    this.validateSoon = debounced(() => this.validate().catch((error) => {
      this.refusal = error.message;
      notice(error.message, true);
    }), PAUSE_MS);
  }

  /** Validates on the worker, and shows the result. */
  async validate() {
    const asked = JSON.stringify(this.config);
    this.asked = asked;
    const type = this.config["connector.class"] ?? "";
    if (!type) {
      this.problems.textContent = "The setting connector.class is missing";
      return;
    }
    const path = `/connector-plugins/${encodeURIComponent(type)}/config/validate?penstock=true`;
    const answer = await ask("PUT", path, { name: this.name, ...this.config });
    if (this.asked !== asked) return;  // a later request counts
    if (this.refusal) retract(this.refusal);
    this.refusal = "";
    this.#show(answer);
  }

  /** An emptied field has its default. */
  set(key, value, mayBeEmpty = false) {
    if (value === "" && !mayBeEmpty) delete this.config[key];
    else this.config[key] = value;
    this.changed(this.config);
    this.validateSoon();
  }

  /** Returns whether the value is hidden, as in a password field. */
  isSecret(key) {
    return this.fields.get(key)?.definition.type === "PASSWORD";
  }

  #show({ configs, groups, error_count: errors, penstock }) {
    const warnings = penstock?.warnings ?? [];
    this.problems.className = errors ? "wrong" : "";
    this.problems.replaceChildren(
      errors ? `${errors} ${errors === 1 ? "setting is" : "settings are"} wrong` : "Valid",
      h("ul", {}, warnings.map((text) => h("li", { class: "warning" }, text))));
    const known = configs.map(({ definition, value }) => described(definition, value));
    const names = new Set(known.map((each) => each.value.name));
    for (const key of Object.keys(this.config)) {
      if (!names.has(key)) known.push({ definition: { name: key, group: OTHER }, value: { name: key, errors: [], recommended_values: [] } });
    }
    const sections = [...new Set([...groups.filter(Boolean), ...known.map((each) => each.definition.group)])].filter((each) => each !== OTHER);
    if (sections.includes(OWN)) sections.unshift(...sections.splice(sections.indexOf(OWN), 1));  // the connector's own come first
    sections.push(OTHER);
    const layout = known.map((each) => each.value.name).join("\n");
    if (layout !== this.layout) this.#lay(sections, known);
    this.layout = layout;
    for (const each of known) this.fields.get(each.value.name).show(each.value, this.config);
    this.errors = errors;
    this.changed(this.config);
    this.#select();
  }

  /** Existing fields stay the same elements, so that the user can keep typing in them. */
  #lay(sections, known) {
    const focused = document.activeElement;
    const order = (each) => each.definition.order ?? each.definition.order_in_group ?? 0;
    this.groups.replaceChildren(...sections.map((title) => {
      const members = known.filter((each) => each.definition.group === title).sort((a, b) => order(a) - order(b));
      const made = members.map(({ definition }) => {
        const { name } = definition;
        if (!this.fields.has(name)) this.fields.set(name, new Field(definition, (value) => this.set(name, value), this.editable));
        return this.fields.get(name).root;
      });
      return h("fieldset", {}, h("legend", {}, title), made, title === OTHER && this.editable && this.#adding());
    }));
    if (this.groups.contains(focused)) focused.focus();
  }

  #adding() {
    const key = h("input", { placeholder: "transforms.alias.type", "aria-label": "Name of another setting" });
    const value = h("input", { placeholder: "value", "aria-label": "Its value" });
    const add = h("button", { type: "button" }, "Add");
    add.addEventListener("click", () => {
      if (!key.value.trim()) return key.focus();
      this.set(key.value.trim(), value.value, true);
      key.value = value.value = "";
    });
    return h("p", { class: "controls" }, key, value, add);
  }

  /** Shows what is set, required, wrong or important; or everything; or what is searched for. */
  #select() {
    const word = this.search.value.trim().toLowerCase();
    for (const [name, field] of this.fields) {
      const { required, importance, group } = field.definition;
      const important = field.hasErrors || name in this.config || (group !== CONVERTERS && (required || importance === "HIGH"));
      field.root.hidden = word ? !name.toLowerCase().includes(word) : !(this.all.checked || important);
    }
    for (const group of this.groups.children) {
      const fields = [...group.querySelectorAll(".field")];
      group.hidden = fields.length > 0 && fields.every((field) => field.hidden);
    }
  }
}

/** A plugin that validates itself may leave out the value of a setting that it defines. */
function described(definition, value) {
  const shown = value ?? { name: definition.name, value: null, errors: [], recommended_values: [] };
  return { definition: grouped(definition, shown.name), value: shown };
}

function grouped(definition, name) {
  const own = /^(?:key|value|header)\.converter\./.test(name) ? CONVERTERS : OWN;
  return definition ? { ...definition, group: definition.group ?? own } : { name, group: OTHER };
}

class Field {
  constructor(definition, set, editable) {
    this.definition = definition;
    const { name } = definition;
    const id = `setting-${name}`;
    this.options = h("datalist", { id: `${id}-values` });
    this.errors = h("p", { class: "wrong", id: `${id}-errors` });
    this.input = definition.type === "BOOLEAN"
      ? h("select", {}, ["", "true", "false"].map((value) => h("option", { value }, value || `default (${definition.default_value})`)))
      : h("input", { type: definition.type === "PASSWORD" ? "password" : "text", autocomplete: "off", spellcheck: "false",
        placeholder: definition.type === "PASSWORD" ? "" : definition.default_value ?? "", list: `${id}-values` });
    const described = `${id}-documentation ${id}-errors`;
    for (const [key, value] of Object.entries({ id, "aria-describedby": described, "aria-required": String(definition.required ?? false) })) this.input.setAttribute(key, value);
    this.input.disabled = !editable || name === "name";
    this.input.addEventListener("input", () => set(this.input.value));
    this.root = h("div", { class: "field" },
      h("label", { for: id }, name),
      this.input, this.options, this.errors,
      h("p", { class: "documentation", id: `${id}-documentation` }, definition.required && "Required. ", documented(definition.documentation ?? "")));
  }

  get hasErrors() {
    return this.errors.textContent !== "";
  }

  show(value, config) {
    const given = config[this.definition.name] ?? (this.definition.name === "name" ? value.value : "") ?? "";
    const { options } = this.input;  // of a select, which shows nothing for another value, such as TRUE or a reference
    if (options && ![...options].some((each) => each.value === given)) this.input.append(h("option", { value: given }, given));
    if (this.input.value !== given && document.activeElement !== this.input) this.input.value = given;
    this.errors.textContent = (value.errors ?? []).join(" ");
    this.input.setAttribute("aria-invalid", String(this.hasErrors));
    this.options.replaceChildren(...(value.recommended_values ?? []).map((each) => h("option", { value: each })));
  }
}
