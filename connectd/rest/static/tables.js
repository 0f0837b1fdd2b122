// The tables of all connectors: one page of them at a time, filtered and in order.

import { Badge, Following, byId, el, place } from "./dom.js";
import { setAttribute, setHidden, setText, showText } from "./dom.js";
import { counted, duration, integer } from "./format.js";
import { chosen, standingOf, statesOf, toneOf } from "./model.js";
import { Pager } from "./pager.js";
import { Sparkline } from "./sparkline.js";

const PAGE_SIZE = 50;
const READ_AGE_USUAL_S = 30;
const REASON_LENGTH_MAX = 300;

const COLUMNS = [
  { title: "Table", order: "name" },
  { title: "State", order: "attention" },
  { title: "Initial scan", order: "scan" },
  { title: "Lag", order: "lag", isDescendingFirst: true },
  { title: "Sent", order: "sent", isDescendingFirst: true },
  { title: "Connector", order: "connector" },
];

export class Tables {
  #tables = [];
  #wish = { text: "", connector: null, state: null, order: "attention", isDescending: false };

  constructor() {
    this.table = byId("tables");
    this.count = byId("tables-count");
    this.empty = byId("tables-empty");
    this.pager = new Pager(byId("tables-pager"), PAGE_SIZE, () => this.#draw());
    this.rows = new Following(this.table.tBodies[0], () => new Row());
    this.headers = COLUMNS.map((column) => this.#header(column));
    place(this.table.tHead.rows[0], this.headers.map(({ cell }) => cell));
    this.connector = new Choice(byId("filter-connector"), "All", (connector) =>
      this.#wishFor({ connector }));
    this.state = new Choice(byId("filter-state"), "All", (state) => this.#wishFor({ state }));
    byId("filter-text").addEventListener("input", ({ target }) =>
      this.#wishFor({ text: target.value }));
  }

  update(tables, connectors) {
    this.#tables = tables;
    this.connector.update(connectors.map(({ name }) => name));
    this.state.update(statesOf(tables));
    this.#draw();
  }

  /** Show what one connector has, and nothing else. */
  show({ connector = null, state = null }) {
    byId("filter-text").value = "";
    this.connector.choose(connector);
    this.state.choose(state);
    this.#wishFor({ text: "", connector, state });
    byId("tables-heading").focus();
  }

  #wishFor(changes) {
    Object.assign(this.#wish, changes);
    this.pager.reset();
    this.#draw();
  }

  #draw() {
    const fitting = chosen(this.#tables, this.#wish);
    this.rows.update(this.pager.cut(fitting), ({ key }) => key);
    setHidden(this.table, fitting.length === 0);
    showText(this.empty, fitting.length > 0 ? "" : this.#whyEmpty());
    const total = this.#tables.length;
    const of = fitting.length === total ? "" : `, of ${integer(total)} in all`;
    showText(this.count, fitting.length === 0 ? "" : `${this.pager.words(fitting.length, "table")}${of}`);
    for (const { cell, order } of this.headers) {
      const direction = this.#wish.isDescending ? "descending" : "ascending";
      setAttribute(cell, "aria-sort", order === this.#wish.order ? direction : null);
    }
  }

  #whyEmpty() {
    if (this.#tables.length > 0) return "No table fits these filters.";
    return "No connector shows a table.";
  }

  #header({ title, order, isDescendingFirst = false }) {
    const button = el("button", { type: "button", className: "sort", textContent: title });
    button.addEventListener("click", () => {
      const isSame = this.#wish.order === order;
      this.#wishFor({ order, isDescending: isSame ? !this.#wish.isDescending : isDescendingFirst });
    });
    return { cell: el("th", { role: "columnheader", scope: "col" }, button), order };
  }
}

/** A <select> whose options follow what there is; what was chosen stays, also when it is gone. */
class Choice {
  #values = [];

  constructor(node, everything, onChoice) {
    this.node = node;
    node.append(el("option", { textContent: everything }));
    node.addEventListener("change", () => onChoice(this.#chosen()));
  }

  update(values) {
    const before = this.#chosen();
    const all = before === null || values.includes(before) ? values : [before, ...values];
    if (JSON.stringify(all) === JSON.stringify(this.#values)) return; // an open list stays open
    this.#values = all;
    const options = all.map((value) => el("option", { textContent: value }));
    this.node.replaceChildren(this.node.options[0], ...options);
    this.choose(before);
  }

  choose(value) {
    this.node.selectedIndex = value === null ? 0 : this.#values.indexOf(value) + 1;
  }

  #chosen() {
    return this.node.selectedIndex > 0 ? this.#values[this.node.selectedIndex - 1] : null;
  }
}

class Row {
  constructor() {
    this.name = el("span", { className: "table-name" });
    this.topic = el("span", { className: "quiet topic" });
    this.reason = el("span", { className: "reason" });
    this.wholeReason = el("div", { tabIndex: 0 });
    this.wholeReason.setAttribute("aria-label", "The whole reason");
    this.reasonMore = el("details", { className: "reason-more", hidden: true },
      el("summary", { textContent: "The whole reason" }), this.wholeReason);
    this.gaps = el("span", { className: "reason" });
    this.gaps.dataset.tone = "warn";
    this.badge = new Badge();
    this.scan = new Scan();
    this.lag = new Lag();
    this.sent = el("span", { className: "sent" });
    this.connector = el("span", { className: "connector-name" });
    this.node = el("tr", { role: "row" },
      el("th", { role: "rowheader", scope: "row" }, this.name, this.topic, this.reason,
        this.reasonMore, this.gaps),
      cell("State", this.badge.node),
      cell("Initial scan", this.scan.node),
      cell("Lag", this.lag.node),
      cell("Sent", this.sent),
      cell("Connector", this.connector));
  }

  update(table) {
    setText(this.name, table.name);
    showText(this.topic, table.topic ? `→ ${table.topic}` : "");
    const isLong = table.reason.length > REASON_LENGTH_MAX;
    showText(this.reason, isLong ? `${table.reason.slice(0, REASON_LENGTH_MAX)} …` : table.reason);
    setText(this.wholeReason, isLong ? table.reason : "");
    setHidden(this.reasonMore, !isLong);
    // A table that runs and has something to say is in trouble: it is trying again.
    setAttribute(this.reason, "data-tone", table.state === "SYNC" ? "warn" : toneOf(table.state));
    showText(this.gaps, table.gaps > 0 ? `${counted(table.gaps, "gap")}: changes were lost` : "");
    const standing = standingOf(table);
    const badge = standing === table.state ? standing : `${table.state}, degraded`;
    this.badge.update(badge, toneOf(standing));
    this.scan.update(table);
    this.lag.update(table);
    setText(this.sent, table.sent === null ? "–" : integer(table.sent));
    setText(this.connector, table.connector);
    for (const each of this.node.cells) {
      setAttribute(each, "data-empty", each.textContent === "–" ? "" : null);
    }
  }
}

/** On a narrow screen a row is a card, and its cells carry their titles themselves. */
const cell = (title, ...children) => el("td", { role: "cell", "data-title": title }, ...children);

class Scan {
  constructor() {
    this.bar = el("progress", { max: 100 });
    this.words = el("span");
    this.details = el("span", { className: "quiet" });
    this.node = el("div", { className: "scan" }, this.bar, this.words, this.details);
  }

  update({ name, scan }) {
    setHidden(this.bar, !scan.isRunning);
    setAttribute(this.bar, "aria-label", `Initial scan of ${name}`);
    setAttribute(this.bar, "value", scan.share === null ? null : Math.floor(scan.share * 100));
    showText(this.words, this.#words(scan));
    showText(this.details, scan.isRunning ? this.#details(scan) : "");
  }

  #words({ isRunning, items, share, left }) {
    if (!isRunning) return items > 0 ? counted(items, "item") : "–";
    if (share === null) return "of unknown size";
    const eta = left === null ? "" : `, about ${duration(left)} left`;
    return `${Math.floor(share * 100)} %${eta}`;
  }

  #details({ items, estimated, share, speed, engine }) {
    const parts = [share === null
      ? counted(items, "item")
      : `${integer(items)} of about ${counted(estimated, "item")}`];
    if (speed > 0) parts.push(`${integer(Math.round(speed))}/s`);
    if (engine === "spark") parts.push("by Spark");
    return parts.join(", ");
  }
}

class Lag {
  constructor() {
    this.words = el("span", { className: "lag-words" });
    this.sparkline = new Sparkline();
    this.details = el("span", { className: "quiet" });
    this.node = el("div", { className: "lag" }, this.words, this.sparkline.node, this.details);
  }

  update(table) {
    setText(this.words, table.lag === null ? "–" : duration(table.lag));
    this.sparkline.update(table.lags);
    showText(this.details, this.#details(table));
  }

  #details({ state, shardsOpen, shardsWaiting, readAge }) {
    const parts = [];
    if (shardsOpen > 0) parts.push(counted(shardsOpen, "shard"));
    if (shardsOpen === 0 && state === "SYNC") parts.push("no shard is read now");
    if (shardsWaiting > 0) parts.push(`${integer(shardsWaiting)} waiting`);
    if (readAge !== null && readAge > READ_AGE_USUAL_S) parts.push(`last read ${duration(readAge)} ago`);
    return parts.join(", ");
  }
}
