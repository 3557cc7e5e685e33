// Elements, tables and dialogs. Texts are always text nodes, so that nothing a connector says becomes markup, and what
// would turn or hide them is escaped, as in the log.

const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text without control characters other than tabs and line ends, and without those that change its direction. */
export function safe(text) {
  return text.replace(UNSAFE, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const SVG = new Set(["svg", "path", "title", "line"]);

/** `h("a", {href: "#", onclick: f}, "text", element)`: null and false are left out, among attributes and children. */
export function h(tag, attributes = {}, ...children) {
  const made = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : safe(String(child)))));
  return made;
}

/**
 * A button; while what it does is under way, it does nothing else. `disabled` would take the focus away from who uses
 * the keyboard. Errors go to the notice.
 */
export function button(text, act, attributes = {}) {
  const made = h("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", async () => {
    if (made.hasAttribute("aria-disabled")) return;
    made.setAttribute("aria-disabled", "true");
    try {
      await act();
    } catch (error) {
      notice(error.message, true);
    } finally {
      made.removeAttribute("aria-disabled");
    }
  });
  return made;
}

/** Makes buttons as `button` does, of which one acts at a time: the others do nothing until it has ended. */
export function exclusive() {
  const peers = new Set();
  let acting = false;
  return (text, act, attributes = {}) => {
    const made = button(text, async () => {
      acting = true;
      for (const each of peers) each.setAttribute("aria-disabled", "true");
      try {
        await act();
      } finally {
        acting = false;
        for (const each of peers) each.removeAttribute("aria-disabled");
      }
    }, attributes);
    for (const each of peers) if (!each.isConnected) peers.delete(each);
    if (acting) made.setAttribute("aria-disabled", "true");
    peers.add(made);
    return made;
  };
}

export function state(name) {
  return h("span", { class: `state ${name}` }, name);
}

/** A table that scrolls by itself where it is too wide; `rows` are lists of cells. */
export function table(caption, heads, rows) {
  const cells = (row) => h("tr", {}, row.map((cell) => h("td", {}, cell)));
  const head = h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text))));
  const made = h("table", {}, h("caption", { class: "unseen" }, caption), head, h("tbody", {}, rows.map(cells)));
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, made);
}

const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'", nbsp: " " };

/** A plugin's documentation, as text: of its markup only code is shown as such, written with tags or backticks. */
export function documented(text) {
  const plain = (part) => part.replace(/<\/?(?:p|br|ul|ol|li)\b[^>]*>/gi, " ").replace(/<\/?[a-z][^>]*>/gi, "").replace(/&(lt|gt|amp|quot|#39|nbsp);/g, (_, name) => ENTITIES[name]);
  return text.split(/(<code>.*?<\/code>|`[^`]+`)/s).map((part, i) => (i % 2
    ? h("code", {}, plain(part.startsWith("`") ? part.slice(1, -1) : part.slice(6, -7)))
    : plain(part)));
}

let said = 0;

/** A line that is read aloud, above the page; it stays until the next one or the next page but the one it announces. */
export function notice(text, wrong = false) {
  const line = document.getElementById("notice");
  said = Date.now();
  line.textContent = safe(text);
  line.className = wrong ? "wrong" : "";
}

/** Clears a notice that no longer applies, if it is still shown. */
export function retract(text) {
  if (document.getElementById("notice").textContent === safe(text)) notice("");
}

/** Called when the user moves to another page. */
export function clearNotice() {
  if (Date.now() - said > 1000) notice("");
}

/** Asks the user to confirm in a dialog; Escape means no. A dialog that is open already is answered with no. */
export function confirmed(question, verb) {
  for (const open of document.querySelectorAll("dialog")) open.close("no");
  const agree = h("button", { value: "yes", class: "danger" }, verb);
  const form = h("form", { method: "dialog" }, h("p", {}, question), agree, " ", h("button", { value: "no" }, "Cancel"));
  const dialog = h("dialog", { "aria-label": question }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    for (const each of form.querySelectorAll("button")) {
      each.addEventListener("click", (event) => {
        event.preventDefault();
        dialog.close(each.value);
        dialog.remove();  // the event comes later; nothing may be pressed until then
      });
    }
  });
}

/** Calls `act` after `ms` without another call. */
export function debounced(act, ms) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), ms);
  };
}
