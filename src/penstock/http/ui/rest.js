// The REST interface of the worker that served the page.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * JSON.parse, but a number that JavaScript would write in another way, such as a long of Java that it rounds, or `1.0`,
 * stays what it is, for JSON.stringify. A browser that can't do that (JSON.rawJSON) gets JavaScript's number.
 */
export function exactly(text) {
  const kept = (_, value, context) =>
    typeof value === "number" && JSON.rawJSON && String(value) !== context.source ? JSON.rawJSON(context.source) : value;
  return JSON.parse(text, kept);
}

/** Returns the parsed reply, null if it is empty. Throws Refused with the worker's message. */
export async function ask(method, path, body, signal, parse = JSON.parse) {
  const given = { method, signal, headers: { Accept: "application/json" } };
  if (method !== "GET") given.headers["Content-Type"] = "application/json";
  if (body !== undefined) given.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, given);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The worker does not answer");
  }
  const text = await answer.text();
  let parsed = null;
  try {
    parsed = text ? parse(text) : null;
  } catch {
    throw new Refused(answer.status, `${answer.status}: ${text.slice(0, 200)}`);
  }
  if (!answer.ok) throw new Refused(answer.status, parsed?.message ?? `${method} ${path} was answered with ${answer.status}`);
  return parsed;
}

export const get = (path, signal, parse) => ask("GET", path, undefined, signal, parse);

export const connectorPath = (name, rest = "") => `/connectors/${encodeURIComponent(name)}${rest}`;
export const penstockPath = (name, rest = "") => `/penstock/v1/connectors/${encodeURIComponent(name)}${rest}`;

let user = null;

/** Reads the user of the page and the actions they may take, with a name on that connector; without one it asks once. */
export function principal(name) {
  if (name) return get(`/penstock/v1/principal?connector=${encodeURIComponent(name)}`);
  user ??= get("/penstock/v1/principal").catch((error) => {
    user = null;
    throw error;
  });
  return user;
}

/** Calls `act` now and every `ms` milliseconds, a number or what tells it, while the page is seen, until `signal` is aborted. */
export async function every(ms, signal, act) {
  while (!signal.aborted) {
    if (!document.hidden) await act();
    await new Promise((resolve) => {
      const on = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", on);  // the page may be open for weeks
        resolve();
      };
      const timer = setTimeout(on, typeof ms === "function" ? ms() : ms);
      signal.addEventListener("abort", on);
    });
  }
}
