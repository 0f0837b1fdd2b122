// Pages of a long list. The document never holds more than one of them.

import { counted, integer } from "./format.js";
import { el, setAttribute, setHidden, setText } from "./dom.js";

export class Pager {
  #page = 0;
  #pages = 1;

  /** `onTurn` is called when somebody turns a page. */
  constructor(node, size, onTurn) {
    this.node = node;
    this.size = size;
    this.onTurn = onTurn;
    this.label = el("span", { className: "quiet" });
    this.previous = this.#button("Previous", -1);
    this.next = this.#button("Next", 1);
    node.append(this.previous, this.label, this.next);
  }

  reset() {
    this.#page = 0;
  }

  /** The part of `items` that is on the page; the last page when there are fewer now. */
  cut(items) {
    this.#pages = Math.max(1, Math.ceil(items.length / this.size));
    this.#page = Math.min(this.#page, this.#pages - 1);
    setHidden(this.node, this.#pages === 1);
    setText(this.label, `Page ${integer(this.#page + 1)} of ${integer(this.#pages)}`);
    setAttribute(this.previous, "aria-disabled", this.#page === 0 ? "true" : null);
    setAttribute(this.next, "aria-disabled", this.#page === this.#pages - 1 ? "true" : null);
    const first = this.#page * this.size;
    return items.slice(first, first + this.size);
  }

  /** "51 to 100 of 1,000 tables". */
  words(total, noun) {
    if (this.#pages === 1) return counted(total, noun);
    const first = this.#page * this.size + 1;
    const last = Math.min(total, first + this.size - 1);
    return `${integer(first)} to ${integer(last)} of ${counted(total, noun)}`;
  }

  #button(text, step) {
    const button = el("button", { type: "button", textContent: text });
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") === "true") return;
      this.#page += step;
      this.onTurn();
    });
    return button;
  }
}
