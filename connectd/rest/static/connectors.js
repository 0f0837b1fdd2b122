// The list of connectors: what each does, why it fails, and its buttons.

import { CONNECTOR_ACTIONS, restartTask } from "./actions.js";
import { isAddressable } from "./api.js";
import { Badge, Following, Trace, announce, byId, el } from "./dom.js";
import { setAttribute, setHidden, setText, showText } from "./dom.js";
import { counted, integer, tally } from "./format.js";
import { standingOf, toneOf } from "./model.js";
import { Pager } from "./pager.js";

const PAGE_SIZE = 20;
const statesOf = (items) => items.map(standingOf);
const UNADDRESSABLE = "A browser cannot send requests for this name; use curl --path-as-is.";

export class Connectors {
  #list = [];

  /** `onShowTables` gets the name of a connector. */
  constructor(question, onShowTables) {
    this.pager = new Pager(byId("connectors-pager"), PAGE_SIZE, () => this.#draw());
    this.cards = new Following(byId("connectors"), () => new Card(question, onShowTables));
    this.empty = byId("connectors-empty");
  }

  update(connectors) {
    this.#list = connectors;
    this.#draw();
  }

  #draw() {
    this.cards.update(this.pager.cut(this.#list), ({ name }) => name);
    const isEmpty = this.#list.length === 0;
    showText(this.empty, isEmpty ? "There is no connector. POST /connectors creates one." : "");
  }
}

class Card {
  #connector = null;

  constructor(question, onShowTables) {
    this.question = question;
    this.title = el("h3");
    this.badge = new Badge();
    this.meta = el("p", { className: "quiet meta" });
    this.actions = CONNECTOR_ACTIONS.map((action) =>
      new ActionButton(action, () => this.#ask(action)));
    this.buttons = el("div", { className: "buttons", role: "group" },
      ...this.actions.map(({ node }) => node));
    this.trace = new Trace("The connector has failed");
    this.trouble = el("p", { className: "trouble", hidden: true });
    this.tasksSummary = el("summary");
    this.taskList = el("ol", { className: "tasks", role: "list" });
    this.tasks = new Following(this.taskList, () => new TaskItem((task) => this.#askTask(task)));
    this.tasksDetails = el("details", { className: "tasks-details" }, this.tasksSummary, this.taskList);
    this.tables = el("button", { type: "button", className: "link" });
    this.tables.addEventListener("click", () => onShowTables(this.#connector.name));
    this.failures = el("div", { className: "failures" });
    this.failing = new Following(this.failures, (task) => new TaskTrace(task.id));
    this.node = el("li", { className: "card" },
      el("div", { className: "card-head" }, el("div", { className: "card-name" },
        el("div", { className: "card-title" }, this.title, this.badge.node), this.meta), this.buttons),
      this.trouble, this.trace.node, this.failures,
      el("div", { className: "card-foot" }, this.tasksDetails, this.tables));
  }

  update(connector) {
    this.#connector = connector;
    const { name, state, tasks, tables } = connector;
    setText(this.title, name);
    this.badge.update(state, toneOf(state));
    setAttribute(this.node, "data-failing", connector.isFailing ? "" : null);
    setAttribute(this.buttons, "aria-label", `Actions for ${name}`);
    setText(this.meta, [connector.class, connector.type, connector.worker].filter(Boolean).join(" · "));
    for (const action of this.actions) action.update(connector);
    showText(this.trouble, isAddressable(name) ? connector.tablesError : UNADDRESSABLE);
    this.trace.update(connector.trace);
    this.failing.update(connector.failedTasks, ({ id }) => id);
    this.#updateTasks(tasks);
    setHidden(this.tables, tables.length === 0);
    setText(this.tables, `${counted(tables.length, "table")}: ${tally(statesOf(tables))}`);
    setAttribute(this.tables, "aria-label", `Show the ${counted(tables.length, "table")} of ${name}`);
  }

  #updateTasks(tasks) {
    setHidden(this.tasksDetails, tasks.length === 0);
    setText(this.tasksSummary, `${counted(tasks.length, "task")}: ${tally(statesOf(tasks))}`);
    const named = tasks.map((task) => ({ ...task, connector: this.#connector.name }));
    this.tasks.update(named, ({ id }) => id);
  }

  #ask(action) {
    const refusal = isAddressable(this.#connector.name) ? action.refusal(this.#connector) : UNADDRESSABLE;
    if (refusal) announce(refusal);
    else this.question.ask(this.#connector.name, action.ask(this.#connector));
  }

  #askTask(task) {
    if (!isAddressable(this.#connector.name)) announce(UNADDRESSABLE);
    else this.question.ask(this.#connector.name, restartTask(this.#connector, task));
  }
}

class TaskTrace {
  constructor(id) {
    this.trace = new Trace(`Task ${id} has failed`);
    this.node = this.trace.node;
  }

  update(task) {
    this.trace.update(task.trace || "It does not say why.");
  }
}

/** Stays where it is and keeps the focus when it makes no sense; then it says why. */
class ActionButton {
  constructor(action, onClick) {
    this.action = action;
    this.node = el("button", { type: "button", textContent: action.label });
    this.node.addEventListener("click", onClick);
  }

  update(connector) {
    const refusal = isAddressable(connector.name) ? this.action.refusal(connector) : UNADDRESSABLE;
    setAttribute(this.node, "aria-label", `${this.action.label} ${connector.name}`);
    setAttribute(this.node, "aria-disabled", refusal ? "true" : null);
    setAttribute(this.node, "title", refusal || null);
  }
}

class TaskItem {
  #task = null;

  constructor(onRestart) {
    this.name = el("span", { className: "task-name" });
    this.badge = new Badge();
    this.worker = el("span", { className: "quiet" });
    this.restart = el("button", { type: "button", className: "small", textContent: "Restart task" });
    this.restart.addEventListener("click", () => onRestart(this.#task));
    this.node = el("li", {}, this.name, this.badge.node, this.worker, this.restart);
  }

  update(task) {
    this.#task = task;
    setText(this.name, `Task ${integer(task.id)}`);
    this.badge.update(task.state, toneOf(task.state));
    setText(this.worker, task.worker_id);
    setAttribute(this.restart, "aria-label", `Restart task ${task.id} of ${task.connector}`);
  }
}
