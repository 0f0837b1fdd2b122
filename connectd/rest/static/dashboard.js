// The page: asks the worker, and hands what it says to the views. State lives in three places only:
// the worker, `TableHistory` (lags of the last minutes) and what people have chosen in the page.

import { isAddressable, pathOf, read, readEach, readReadiness } from "./api.js";
import { Connectors } from "./connectors.js";
import { byId, setAttribute, setText, showText } from "./dom.js";
import { clock, duration } from "./format.js";
import { TableHistory, connectorsOf } from "./model.js";
import { Overview } from "./overview.js";
import { Question } from "./question.js";
import { Refresher } from "./refresh.js";
import { Tables } from "./tables.js";

const classes = new Map();
const history = new TableHistory();

const refresher = new Refresher({ load, show, onChange: showFreshness });
const question = new Question(() => refresher.now());
const tables = new Tables();
const connectors = new Connectors(question, (connector) => tables.show({ connector }));
const overview = new Overview((state) => tables.show({ state }));

async function load() {
  const [worker, readiness, listing] = await Promise.all([
    read("./"), readReadiness(), read("connectors?expand=status"),
  ]);
  await learnClasses(Object.keys(listing));
  const names = Object.keys(listing).filter(isAddressable);
  const paths = names.map((name) => pathOf("connectd", "connectors", name, "tables"));
  const answers = await readEach(paths);
  const rowsOf = (answer) => (answer instanceof Error ? answer : answer.tables);
  const rows = new Map(names.map((name, index) => [name, rowsOf(answers[index])]));
  return { worker, readiness, listing, rows, unanswered: answers.flatMap((answer) => answer.unanswered ?? []) };
}

/** Configurations are long, and hardly change: they are asked for when there is a new name. */
async function learnClasses(names) {
  if (names.every((name) => classes.has(name))) return;
  const listing = await read("connectors?expand=info");
  classes.clear();
  for (const [name, { info }] of Object.entries(listing)) {
    const words = (info.config["connector.class"] ?? "").split(".");
    classes.set(name, words.at(-1));
  }
}

function show({ worker, readiness, listing, rows, unanswered }) {
  const list = connectorsOf(listing, classes, rows);
  const found = history.update(list, performance.now());
  setText(byId("worker"), `${worker.version} · ${location.host}`);
  const reasons = readiness.reasons ?? [];
  showText(byId("unanswered"), missingWords(unanswered));
  showText(byId("not-ready"), reasons.length === 0 ? "" : `The worker is not ready. ${reasons.join(" ")}`);
  document.title = titleOf(list);
  overview.update(list, found);
  connectors.update(list);
  tables.update(found, list);
}

function missingWords(unanswered) {
  const workers = new Map(unanswered.map(({ url, reason }) => [url, reason]));
  if (workers.size === 0) return "";
  const each = [...workers].map(([url, reason]) => `${url} (${reason})`);
  return `Tables of other workers are missing here: ${each.join(", ")}.`;
}

function titleOf(list) {
  const failing = list.filter(({ isFailing }) => isFailing).length;
  return failing === 0 ? "connectd" : `(${failing} failing) connectd`;
}

function showFreshness({ phase, failure, loadedAt, waitMs }) {
  const every = `every ${duration(waitMs / 1000)}`;
  const asOf = loadedAt === null ? "nothing yet" : `the state of ${clock(loadedAt)}`;
  setAttribute(byId("freshness"), "data-phase", phase);
  setText(byId("freshness-text"), {
    loading: "Loading…",
    live: `Updated ${clock(loadedAt ?? new Date())}, ${every}`,
    paused: `Paused; this is ${asOf}`,
    hidden: "Paused while nobody looks",
    failing: `Trying again ${every}`,
  }[phase]);
  setText(byId("refresh-toggle"), refresher.isPaused ? "Resume refresh" : "Pause refresh");
  showText(byId("banner"), failure === null ? "" : `${failure.message}. What you see is ${asOf}.`);
  document.body.toggleAttribute("data-stale", failure !== null);
}

byId("refresh-toggle").addEventListener("click", () =>
  (refresher.isPaused ? refresher.resume() : refresher.pause()));
byId("refresh-now").addEventListener("click", () => refresher.now());

refresher.now();
