// The first line: is everything well, and if not, how much is not. What is wrong can be clicked.

import { Badge, Following, byId, el, setText, showText } from "./dom.js";
import { duration, integer } from "./format.js";
import { standingOf, statesOf, toneOf } from "./model.js";

export class Overview {
  /** `onShowState` gets a state of tables. */
  constructor(onShowState) {
    this.connectors = new Figure("Connectors", () => new Badge());
    this.tasks = new Figure("Tasks", () => new Badge());
    this.tables = new Figure("Tables", () => new StateButton(onShowState));
    this.lag = new Figure("Longest lag", () => new Badge());
    const figures = [this.connectors, this.tasks, this.tables, this.lag];
    byId("overview").append(...figures.map(({ node }) => node));
  }

  update(connectors, tables) {
    const tasks = connectors.flatMap((connector) => connector.tasks);
    this.connectors.update(integer(connectors.length), counts(connectors));
    this.tasks.update(integer(tasks.length), counts(tasks));
    this.tables.update(integer(tables.length), counts(tables));
    const worst = tables.reduce((a, b) => ((b.lag ?? -1) > (a?.lag ?? -1) ? b : a), null);
    this.lag.update(worst ? duration(worst.lag) : "–", [], worst ? worst.name : "");
  }
}

const counts = (items) => statesOf(items).map((state) =>
  ({ state, count: items.filter((item) => standingOf(item) === state).length }));

class Figure {
  constructor(title, make) {
    this.value = el("span", { className: "figure" });
    this.note = el("span", { className: "quiet note" });
    const list = el("span", { className: "badges" });
    this.states = new Following(list, () => new CountedState(make()));
    this.node = el("div", {},
      el("dt", { textContent: title }), el("dd", {}, this.value, list, this.note));
  }

  update(value, states, note = "") {
    setText(this.value, value);
    this.states.update(states, ({ state }) => state);
    showText(this.note, note);
  }
}

class CountedState {
  constructor(view) {
    this.view = view;
    this.node = view.node;
  }

  update({ state, count }) {
    this.view.update(`${integer(count)} ${state}`, toneOf(state), state);
  }
}

class StateButton {
  #state = "";

  constructor(onClick) {
    this.badge = new Badge();
    this.node = el("button", { type: "button", className: "bare" }, this.badge.node);
    this.node.addEventListener("click", () => onClick(this.#state));
  }

  update(text, tone, state) {
    this.#state = state;
    this.badge.update(text, tone);
    this.node.setAttribute("aria-label", `Show the tables in ${state}: ${text}`);
  }
}
