// The offsets of a connector; they can be altered and reset while it is stopped (KIP-875).

import { button, confirmed, h, notice, table } from "../dom.js";
import { ask, connectorPath, exactly, get } from "../rest.js";
import { plan } from "./plan.js";

export async function offsets(root, shown) {
  const list = h("div");
  root.append(list);
  let drawnFor = null;

  async function draw() {
    const stopped = shown.status.connector.state === "STOPPED" && shown.status.tasks.length === 0;
    const alterable = stopped && shown.may("offsets");
    const found = await get(connectorPath(shown.name, "/offsets"), undefined, exactly);
    drawnFor = stopped;
    const rows = found.offsets.map((each) => row(each, alterable, shown, draw));
    const heads = ["Partition", "Offset", ...(alterable ? [""] : [])];
    const reset = button("Reset all offsets", async () => {
      if (!(await confirmed(`Reset all offsets of ${shown.name}? It starts from the beginning when it is resumed.`, "Reset"))) return;
      notice((await ask("DELETE", connectorPath(shown.name, "/offsets"))).message);
      await draw();
    }, { class: "danger" });
    list.replaceChildren(
      rows.length ? table("Offsets", heads, rows) : h("p", {}, "It has no offsets."),
      shown.may("offsets") && !stopped ? h("p", {}, "Stop the connector to alter or reset its offsets.") : "",
      alterable && rows.length ? h("p", {}, reset) : "",
      alterable && shown.status.type === "sink" ? plan(shown, draw) : "");
  }

  shown.watch((status) => {
    const stopped = status.connector.state === "STOPPED" && status.tasks.length === 0;
    if (drawnFor !== null && stopped !== drawnFor) draw().catch((error) => notice(error.message, true));
  });
  await draw();
}

function row({ partition, offset }, alterable, shown, draw) {
  const where = h("code", {}, JSON.stringify(partition));
  if (!alterable) return [where, h("code", {}, JSON.stringify(offset))];
  const text = h("input", { value: JSON.stringify(offset), spellcheck: "false", "aria-label": `Offset of ${JSON.stringify(partition)}` });
  const alter = button("Alter", async () => {
    let given;
    try {
      given = exactly(text.value);
    } catch (error) {
      throw new Error(`The offset must be JSON, such as ${JSON.stringify(offset)}: ${error.message}`);
    }
    notice((await ask("PATCH", connectorPath(shown.name, "/offsets"), { offsets: [{ partition, offset: given }] })).message);
    await draw();
  });
  return [where, text, alter];
}
