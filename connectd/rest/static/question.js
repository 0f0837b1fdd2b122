// Asks before something is done, does it, and says what came of it. A modal <dialog> keeps the focus
// inside and gives it back; Cancel has it first, so Enter alone changes nothing.
//
// No question is answered by the click that brought it there: what comes after the first click of a
// double click is not meant for what has appeared under the pointer meanwhile. What cannot be undone
// wants the connector's name in writing (`wantsName`).

import { change } from "./api.js";
import { announce, byId, el, setHidden, setText, showText } from "./dom.js";

export class Question {
  #dialog = byId("question");
  #error = byId("question-error");
  #written = byId("question-written");
  #name = byId("question-name");
  #isBusy = false;
  #wanted = null;

  /** `onDone` is called when something has been changed, or may have been. */
  constructor(onDone) {
    this.onDone = onDone;
    this.#dialog.addEventListener("cancel", (event) => {
      if (this.#isBusy) event.preventDefault(); // the request is under way: its outcome matters
    });
    this.#name.addEventListener("input", () => this.#setEnabled());
  }

  /** Show a question of `actions` about a connector. */
  ask(connector, { title, words, answers, wantsName = false }) {
    this.#wanted = wantsName ? connector : null;
    this.#name.value = "";
    setHidden(this.#written, !wantsName);
    setText(byId("question-title"), title);
    byId("question-words").replaceChildren(...words.map((text) => el("p", { textContent: text })));
    showText(this.#error, "");
    const cancel = el("button", { type: "button", textContent: "Cancel" });
    cancel.addEventListener("click", (event) => isMeant(event) && this.#dialog.close());
    const buttons = answers.map((answer) => this.#button(connector, answer));
    byId("question-buttons").replaceChildren(cancel, ...buttons);
    this.#setEnabled();
    if (!this.#dialog.open) this.#dialog.showModal();
    cancel.focus();
  }

  #button(connector, answer) {
    const button = el("button", {
      type: "button",
      className: answer.isGrave ? "grave" : "main",
      textContent: answer.label,
    });
    button.addEventListener("click", (event) =>
      isMeant(event) && this.#do(connector, answer, button));
    return button;
  }

  async #do(connector, answer, button) {
    if (this.#isBusy) return;
    this.#setBusy(button, true);
    try {
      await change(answer.method, answer.path);
    } catch (error) {
      showText(this.#error, `${error.message}. Nothing more will be done unless you try again.`);
      return;
    } finally {
      this.#setBusy(button, false);
      this.onDone();
    }
    announce(`${connector} ${answer.done}.`);
    if (answer.thenAsk) this.ask(connector, answer.thenAsk());
    else this.#dialog.close();
  }

  #setBusy(button, isBusy) {
    this.#isBusy = isBusy;
    for (const each of byId("question-buttons").children) each.disabled = isBusy && each !== button;
    button.setAttribute("aria-busy", isBusy);
  }

  #setEnabled() {
    const isWritten = this.#wanted === null || typed(this.#name.value) === typed(this.#wanted);
    const [, ...answers] = byId("question-buttons").children;
    for (const each of answers) each.disabled = !isWritten;
  }
}

/** Of a double click, the first alone; a key counts as no click at all. */
const isMeant = ({ detail }) => detail <= 1;

/** As a field of one line holds it. */
const typed = (name) => name.replace(/\s+/g, " ").trim();
