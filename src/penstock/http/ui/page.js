// The frame: finds the view of the address after `#`, and shows it. A view is `(main, parts, signal) => promise`;
// the signal is aborted when another view is shown.

import { connectors } from "./connectors.js";
import { clearNotice, h, notice } from "./dom.js";
import { principal } from "./rest.js";

// The list is what is seen first; the other views are loaded when they are.
const VIEWS = {
  connectors,
  connector: async (...given) => (await import("./connector.js")).connector(...given),
  create: async (...given) => (await import("./catalogue.js")).catalogue(...given),
  workers: async (...given) => (await import("./workers.js")).workers(...given),
};
let shown = new AbortController();

/** Decodes a part of the address; returns it unchanged if it has text that is not escaped, such as `50%`. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function show() {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const [view = "connectors", ...parts] = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
  const main = h("main", { id: "main", tabindex: "-1" });
  document.getElementById("main").replaceWith(main);
  clearNotice();
  for (const link of document.querySelectorAll("header nav a")) {
    const current = link.hash === `#/${view}` || (view === "connector" && link.hash === "#/connectors");
    link.toggleAttribute("aria-current", false);
    if (current) link.setAttribute("aria-current", "page");
  }
  try {
    await (VIEWS[view] ?? connectors)(main, parts, signal);
  } catch (error) {
    if (!signal.aborted) main.append(h("p", { class: "wrong", role: "alert" }, error.message));
  }
}

async function showUser() {
  const user = await principal();
  document.getElementById("user").textContent = user.name ?? "";
  for (const link of document.querySelectorAll("[data-action]")) {
    link.hidden = !user.actions_on_some.includes(link.dataset.action);
  }
}

addEventListener("hashchange", () => {
  if (location.hash !== "#main") show();
  // Following the link has already moved the focus there, perhaps to an element in it.
  else if (!document.querySelector("#main:focus-within")) document.getElementById("main").focus();
});
showUser().catch((error) => notice(error.message, true));
show();
