// A figure drawn over the last minutes that the page was open.

import { h } from "../dom.js";

const MAX = 150;  // points, at one every two seconds five minutes
const WIDTH = 300, HEIGHT = 60;

export class Figure {
  constructor(title) {
    this.title = title;
    this.values = [];
  }

  /** The drawing with one value more; null if none has been known yet. */
  add(value) {
    this.values.push(value);
    if (this.values.length > MAX) this.values.shift();
    const known = this.values.filter((each) => each !== null);
    if (!known.length) return null;
    const most = Math.max(...known, 1);
    const last = known.at(-1).toLocaleString("en", { maximumFractionDigits: 1 });
    const text = `${this.title}: ${last}, at most ${most.toLocaleString("en", { maximumFractionDigits: 1 })}`;
    const drawing = h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text },
      h("line", { x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }),
      h("path", { d: this.#line(most) }));
    const since = `, at most ${most.toLocaleString("en", { maximumFractionDigits: 1 })} in ${(MAX * 2) / 60} minutes`;
    const scale = known.some((each) => each > 0) ? since : "";
    return h("figure", {}, h("figcaption", {}, `${this.title} `, h("strong", {}, last), scale), drawing);
  }

  #line(most) {
    const step = WIDTH / (MAX - 1);
    const left = WIDTH - step * (this.values.length - 1);
    let pen = "M";
    return this.values.map((value, i) => {
      if (value === null) {
        pen = "M";
        return "";
      }
      const point = `${pen}${(left + i * step).toFixed(1)} ${(HEIGHT - 2 - (value / most) * (HEIGHT - 6)).toFixed(1)}`;
      pen = "L";
      return point;
    }).join("");
  }
}
