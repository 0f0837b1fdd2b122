// The last minutes of a lag as a line. It adds shape to a number that stands beside it, so screen
// readers are spared it. The scale reaches down to a second: noise at the tip stays flat.

import { setAttribute, svg } from "./dom.js";
import { HISTORY_MAX } from "./model.js";

const WIDTH = 96;
const HEIGHT = 22;
const INSET = 2;
const LEAST_S = 1;

export class Sparkline {
  #line = svg("polyline", { fill: "none", "vector-effect": "non-scaling-stroke" });
  #tip = svg("circle", { r: 2 });

  constructor() {
    this.node = svg("svg", {
      class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true",
    });
    const base = { class: "base", x1: INSET, x2: WIDTH - INSET, y1: HEIGHT - INSET, y2: HEIGHT - INSET };
    this.node.append(svg("line", base), this.#line, this.#tip);
  }

  /** `values` in seconds, oldest first; null where there was none. */
  update(values) {
    const top = Math.max(LEAST_S, ...values);
    const points = values.flatMap((value, index) => (value === null ? [] : [[
      WIDTH - INSET - ((values.length - 1 - index) * (WIDTH - 2 * INSET)) / (HISTORY_MAX - 1),
      HEIGHT - INSET - (value / top) * (HEIGHT - 2 * INSET),
    ]]));
    const pairs = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);
    setAttribute(this.#line, "points", pairs.join(" "));
    const tip = points.at(-1);
    setAttribute(this.node, "data-empty", tip === undefined ? "" : null);
    if (tip !== undefined) {
      setAttribute(this.#tip, "cx", tip[0].toFixed(1));
      setAttribute(this.#tip, "cy", tip[1].toFixed(1));
    }
  }
}
