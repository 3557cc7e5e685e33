// What statuses mean: which connector is worst, and the root cause in a trace.

/** From what must be looked at first to what needs nothing. */
export const STATES = ["FAILED", "RESTARTING", "UNASSIGNED", "PAUSED", "STOPPED", "RUNNING"];

const rank = (state) => (STATES.indexOf(state) + STATES.length) % STATES.length;

/** The worst state of a connector and its tasks. */
export function worst(status) {
  const states = [status.connector.state, ...status.tasks.map((task) => task.state)];
  return states.reduce((a, b) => (rank(b) < rank(a) ? b : a));
}

export const byTrouble = (a, b) => rank(a.state) - rank(b.state) || a.name.localeCompare(b.name);

/** The last `Caused by` of a trace, or its first line. */
export function rootCause(trace) {
  const lines = trace.split("\n");
  const causes = lines.filter((line) => line.startsWith("Caused by: "));
  return (causes.at(-1) ?? lines.find((line) => line.trim()) ?? "").replace(/^Caused by: /, "");
}

/** The root cause without the package of its class, for a row of a list. */
export const shortCause = (trace) => rootCause(trace).replace(/^(?:[a-z]\w*\.)+(?=[A-Z])/, "");

/** The first trace of a connector or its tasks, with where it comes from. */
export function traces(status) {
  const of = (who, part) => (part.trace ? [{ who, trace: part.trace }] : []);
  return [...of("Connector", status.connector), ...status.tasks.flatMap((task) => of(`Task ${task.id}`, task))];
}
