// The plugins of the worker, and a new connector of one of them.

import { button, h, notice } from "./dom.js";
import { ask, get } from "./rest.js";
import { check } from "./connector/check.js";
import { Editor } from "./connector/configuration.js";
import { preview } from "./connector/preview.js";

export async function catalogue(main, [type]) {
  if (type) return creation(main, type);
  const plugins = await get("/connector-plugins?penstock=true");
  const filter = h("input", { type: "search", id: "filter", autocomplete: "off" });
  const list = h("ul", { class: "plugins" });
  const draw = () => list.replaceChildren(...plugins
    .filter((each) => each.class.toLowerCase().includes(filter.value.toLowerCase()))
    .sort((a, b) => short(a).localeCompare(short(b)))
    .map((each) => h("li", {},
      each.problem ? short(each) : h("a", { href: `#/create/${encodeURIComponent(each.class)}` }, short(each)),
      ` ${each.type} ${each.version ?? ""}`,
      h("div", { class: each.problem ? "wrong" : "documentation" }, each.problem ?? each.class))));
  filter.addEventListener("input", draw);
  main.append(h("h1", {}, "Create a connector"), h("p", { class: "controls" }, h("label", {}, "Filter ", filter)), list);
  draw();
}

const short = (plugin) => plugin.class.split(".").at(-1);

async function creation(main, type) {
  const plugin = (await get("/connector-plugins")).find((each) => each.class === type);
  const name = h("input", { id: "name", required: true, autocomplete: "off" });
  const state = h("select", {}, ["RUNNING", "PAUSED", "STOPPED"].map((each) => h("option", { value: each }, each)));
  const editor = new Editor("", { "connector.class": type, "tasks.max": "1" }, () => {});
  name.addEventListener("input", () => {
    editor.form.name = name.value;
    editor.form.validateSoon();
  });
  const create = button("Create", async () => {
    if (!name.value.trim()) {
      name.focus();
      throw new Error("A connector needs a name");
    }
    const made = await ask("POST", "/connectors", { name: name.value, config: editor.valid, initial_state: state.value });
    location.hash = `#/connector/${encodeURIComponent(made.name)}`;
    notice(`Created ${made.name}`);
  }, { class: "primary" });
  main.append(
    h("h1", {}, `Create a ${type.split(".").at(-1)}`),
    h("p", { class: "controls" }, h("label", {}, "Name ", " ", name), h("label", {}, "Initial state ", state)),
    editor.root,
    h("p", { class: "controls saving" }, create),
    preview(() => ({ name: name.value || "new", config: editor.valid }), plugin?.type === "sink"),
    check(() => ask("POST", "/penstock/v1/check", { name: name.value || "new", config: editor.valid }), "this configuration"));
  name.focus();
  await editor.validate();
}
