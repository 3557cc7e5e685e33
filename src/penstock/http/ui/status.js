// What statuses mean: which connector is worst, and the root cause in a trace.

import { STATES, UNKNOWN } from "./states.js";

/** A state that the page does not know ranks as UNKNOWN, and is shown by its name. */
const rank = (state) => STATES.indexOf(STATES.includes(state) ? state : UNKNOWN);

/** The worst state of a connector and its tasks. */
export function worst(status) {
  const states = [status.connector.state, ...status.tasks.map((task) => task.state)];
  return states.reduce((a, b) => (rank(b) < rank(a) ? b : a));
}

/** Returns the trouble that the state does not show: tasks that are stalled, or that retry. */
export function troubles(status) {
  const health = healthOf(status);
  const stalled = status.tasks.filter((task) => health.get(task.id)?.stalled).length;
  const retries = (task) => health.get(task.id)?.retrying || happened(task, health.get(task.id)) === "retries";
  const retrying = status.tasks.filter(retries).length;
  return [stalled && `${stalled} stalled`, retrying && `${retrying} retrying`].filter(Boolean);
}

const healthOf = (status) => new Map((status.penstock?.tasks ?? []).map((task) => [task.id, task]));

/** FAILED first, then what is in trouble though its state does not say so, then by state and name. */
export const byTrouble = (a, b) => place(a) - place(b) || a.name.localeCompare(b.name);

const place = ({ state, troubles: found = [] }) => (found.length && state !== "FAILED" ? 0.5 : rank(state));

/** Returns the kind of a trace: a failure, a call that does not return, a retry, or a wait. */
function happened(part, health) {
  if (!part.trace) return "";
  if (health?.stalled) return "is stalled";
  return { FAILED: "failed", RUNNING: "id" in part ? "retries" : "is RUNNING" }[part.state] ?? `is ${part.state}`;
}

/** The last `Caused by` of a trace, or its first line. */
export function rootCause(trace) {
  const lines = trace.split("\n");
  const causes = lines.filter((line) => line.startsWith("Caused by: "));
  return (causes.at(-1) ?? lines.find((line) => line.trim()) ?? "").replace(/^Caused by: /, "");
}

/** The root cause without the package of its class, for a row of a list. */
export const shortCause = (trace) => rootCause(trace).replace(/^(?:[a-z]\w*\.)+(?=[A-Z])/, "");

/** The traces of a connector and its tasks, failures first, with whose they are and what happened. */
export function traces(status) {
  const health = healthOf(status);
  const of = (who, part) =>
    part.trace ? [{ who, happened: happened(part, health.get(part.id)), trace: part.trace, state: part.state }] : [];
  const found = [...of("Connector", status.connector), ...status.tasks.flatMap((task) => of(`Task ${task.id}`, task))];
  return found.sort((a, b) => (b.state === "FAILED") - (a.state === "FAILED"));
}
