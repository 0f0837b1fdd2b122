// Building the document. Text reaches it as text only: nothing here, or elsewhere in this page, parses
// HTML, so a connector may be called anything. What has not changed is not touched: focus, selection
// and opened details survive every refresh.

const SVG = "http://www.w3.org/2000/svg";

/** An element; `properties` are DOM properties, or attributes: `role`, and names with a hyphen. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

/** An element of SVG with attributes. */
export function svg(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export const byId = (id) => document.getElementById(id);

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Also what is set again to the same is a change: for those who are told of changes. */
export function setHidden(node, isHidden) {
  if (node.hidden !== isHidden) node.hidden = isHidden;
}

/** Show a text, or hide its element while there is none. */
export function showText(node, text) {
  setText(node, text);
  setHidden(node, text === "");
}

/** Make `nodes` the children of `parent` in this order, moving as few as possible. */
export function place(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, index) => {
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
  });
}

/**
 * Children that follow a list: one view for each key, made once, updated ever after.
 * A view has `node` and `update(item)`.
 */
export class Following {
  #views = new Map();

  constructor(parent, make) {
    this.parent = parent;
    this.make = make;
  }

  update(items, keyOf) {
    const before = this.#views;
    this.#views = new Map();
    const nodes = [];
    for (const item of items) {
      const key = keyOf(item);
      const view = before.get(key) ?? this.make(item);
      view.update(item);
      this.#views.set(key, view);
      nodes.push(view.node);
    }
    place(this.parent, nodes);
  }
}

/** A state with its colour; never the colour alone. */
export class Badge {
  constructor() {
    this.node = el("span", { className: "badge" });
  }

  update(state, tone) {
    setText(this.node, state);
    setAttribute(this.node, "data-tone", tone);
  }
}

/** A message that can be opened: its first line is always there to be read. */
export class Trace {
  constructor(what) {
    this.what = el("span", { className: "trace-what", textContent: `${what}: ` });
    this.line = el("span", { className: "trace-line" });
    this.text = el("pre", { tabIndex: 0 });
    this.text.setAttribute("aria-label", what);
    this.node = el("details", { className: "trace", hidden: true },
      el("summary", {}, el("span", { className: "trace-head" }, this.what, this.line)), this.text);
  }

  update(trace) {
    setHidden(this.node, !trace);
    setText(this.line, (trace ?? "").split("\n", 1)[0]);
    setText(this.text, trace ?? "");
  }
}

/** Say it to screen readers, once. */
export function announce(text) {
  byId("news").textContent = text;
}
