// Where tasks spend their time, and where they read and write: what is furthest behind first.

import { h, table } from "../dom.js";

const STAGES = ["poll", "convert", "transform", "put", "send", "commit"];
const SHOWN = 20;
const MIN = 0.0005;  // of the time: less would be shown as 0 %

export function stages(root, tasks) {
  const known = tasks.filter((task) => Object.values(task.stages ?? {}).some((share) => share > 0));
  const used = STAGES.filter((stage) => known.some((task) => stage in task.stages));
  const cell = (task, stage) => {
    const share = task.stages[stage] ?? 0;
    const text = share > 0 && share < MIN ? "< 0.1 %" : `${(share * 100).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
    return stage === task.slowest_stage ? h("strong", {}, text) : text;
  };
  const rows = known.map((task) => [String(task.id), ...used.map((stage) => cell(task, stage))]);
  redraw(root, rows.map((row) => row.map((each) => each.textContent ?? each)), () => used.length ? [
    h("h2", {}, "Stages"),
    h("p", {}, "Share of the last half minute that each task has spent in each stage; the largest is bold."),
    table("Stages", ["Task", ...used], rows)] : []);
}

export function places(root, tasks) {
  const all = tasks.flatMap((task) => (task.places ?? []).map((place) => ({ task: task.id, ...place })));
  all.sort((a, b) => (b.behind ?? 0) - (a.behind ?? 0) || (b.per_second ?? 0) - (a.per_second ?? 0));
  redraw(root, all, () => {
    if (!all.length) return [];
    const rows = all.slice(0, SHOWN).map(row);
    const more = all.length > SHOWN ? h("p", {}, `${all.length - SHOWN} more are in the status.`) : "";
    return [h("h2", {}, "Positions"), table("Positions", ["Task", "", "Position", "Behind", "Per second", "Place"], rows), more];
  });
}

function row({ task, direction, topic, partition, source, position, records, end, behind, unit, per_second: rate }) {
  const at = position ?? records;
  const text = at === null || at === undefined ? "" : number(at) + (end === null ? "" : ` of ${number(end)}`);
  return [
    String(task), direction === "from" ? "reads" : "writes", text && `${text} ${unit}`, number(behind), number(rate),
    topic === undefined ? h("code", {}, source) : `${topic}-${partition}`,
  ];
}

function redraw(root, what, made) {
  const key = JSON.stringify(what);
  if (root.dataset.drawn === key) return;
  root.dataset.drawn = key;
  root.replaceChildren(...made());
}

function number(value) {
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 1 }) : "";
}
