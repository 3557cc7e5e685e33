// The log lines of a connector and its tasks, followed live by server-sent events from all workers that run them.

import { h } from "../dom.js";
import { penstockPath } from "../rest.js";

const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
const MAX = 2000;
const AGAIN_MS = 3000;

export async function logs(root, shown, signal) {
  const level = h("select", {}, LEVELS.map((each) => h("option", { value: each }, each)));
  level.value = "INFO";
  const task = h("input", { type: "number", min: "0", placeholder: "all", class: "short" });
  const follow = h("input", { type: "checkbox", checked: true });
  const said = h("p", { role: "status" });
  const lines = h("ol", { class: "log", tabindex: "0", "aria-label": "Log lines" });
  root.append(
    h("p", { class: "controls" }, h("label", {}, "Level ", level), h("label", {}, "Task ", task), h("label", {}, follow, " Scroll to new lines")),
    said, lines);
  let stream = null;
  let again = null;

  function open() {
    close();
    const query = new URLSearchParams({ level: level.value, ...(task.value === "" ? {} : { task: task.value }) });
    stream = new EventSource(penstockPath(shown.name, `/logs/stream?${query}`));
    stream.onopen = () => { said.textContent = ""; lines.replaceChildren(); };
    stream.onmessage = (event) => add(JSON.parse(event.data));
    stream.onerror = () => {
      said.textContent = "The worker sends no log lines; trying again";
      if (stream.readyState === EventSource.CLOSED) again = setTimeout(open, AGAIN_MS);  // it was refused: the browser gives up
    };
    stream.addEventListener("end", () => { stream.close(); said.textContent = "The connector was deleted."; });
  }

  function close() {
    stream?.close();
    clearTimeout(again);
  }

  function add({ time, level: of, task: number, worker, logger, message }) {
    const where = number === null ? "connector" : `task ${number}`;
    lines.append(h("li", { class: of }, `${time} ${of} ${where} ${worker} ${logger}\n${message.replaceAll("\n", "\n    ")}`));
    while (lines.children.length > MAX) lines.firstChild.remove();
    if (follow.checked) lines.scrollTop = lines.scrollHeight;
  }

  const choose = () => { lines.replaceChildren(); open(); };
  level.addEventListener("change", choose);
  task.addEventListener("change", choose);
  signal.addEventListener("abort", close);
  if (!signal.aborted) open();
}
