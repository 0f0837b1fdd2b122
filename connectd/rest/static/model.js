// What is shown, made of what the worker answers and of what this page remembers. No document here.

/** Lags that a sparkline shows; with a refresh every 5 s, the last five minutes. */
export const HISTORY_MAX = 60;
const SPEED_WINDOW_MS = 60_000;

const TONES = {
  RUNNING: "good", SYNC: "good",
  INIT_SYNC: "busy", RESTARTING: "busy", DISCOVERY: "busy",
  RESYNC: "warn", UNASSIGNED: "warn", DEGRADED: "warn",
  FAILED: "bad", GONE: "bad",
};
export const toneOf = (state) => TONES[state] ?? "idle";

/** How much a state wants to be looked at, most first. */
const URGENCY = [
  "FAILED", "GONE", "DEGRADED", "UNASSIGNED", "RESTARTING", "RESYNC", "INIT_SYNC", "DELAYED", "DISCOVERY",
  "PAUSED", "STOPPED", "RUNNING", "SYNC",
];
const urgencyOf = (state) => {
  const place = URGENCY.indexOf(state);
  return place < 0 ? URGENCY.length : place;
};

/**
 * The state, or DEGRADED: of a table that makes no progress although it should. What has failed is
 * counted as that. For rows of the worker, and for what this page makes of them.
 */
export const standingOf = ({ state, degraded }) =>
  (degraded === true && state !== "FAILED" ? "DEGRADED" : state);

const compareText = new Intl.Collator("en", { numeric: true }).compare;

// -- connectors ---------------------------------------------------------------------------------

/**
 * Connectors of `GET /connectors?expand=status`, those in trouble first.
 * `answers` has the tables of each by name: a list, or the error that came instead.
 */
export function connectorsOf(listing, classes, answers) {
  const connectors = Object.entries(listing).map(([name, { status }]) => {
    const tables = answers.get(name) ?? [];
    const failed = status.tasks.filter((task) => task.state === "FAILED");
    return {
      name,
      state: status.connector.state,
      worker: status.connector.worker_id,
      trace: status.connector.trace,
      type: status.type,
      class: classes.get(name) ?? "",
      tasks: status.tasks,
      failedTasks: failed,
      isFailing: failed.length > 0 || status.connector.state === "FAILED",
      tables: tables instanceof Error ? [] : tables,
      tablesError: tables instanceof Error ? tables.message : "",
    };
  });
  return connectors.sort((a, b) => b.isFailing - a.isFailing || compareText(a.name, b.name));
}

// -- tables -------------------------------------------------------------------------------------

/** The tables of all connectors, with what this page has seen of each. */
export class TableHistory {
  #memories = new Map();

  /** Rows of every connector, with history; what is gone is forgotten. `nowMs` is monotonic. */
  update(connectors, nowMs) {
    const before = this.#memories;
    this.#memories = new Map();
    return connectors.flatMap(({ name, tables }) =>
      tables.map((row) => {
        const key = this.#keyOf(name, row);
        const memory = before.get(key) ?? { lags: [], scans: [] };
        this.#memories.set(key, memory);
        remember(memory, row, nowMs);
        return tableOf(key, name, row, memory);
      }));
  }

  #keyOf(connector, row) {
    // One table may be told of twice: by its task, and by the connector that looks for tables.
    for (let copy = 0; ; copy += 1) {
      const key = JSON.stringify([connector, row.table, row.task ?? null, copy]);
      if (!this.#memories.has(key)) return key;
    }
  }
}

function remember(memory, row, nowMs) {
  memory.lags.push(row.lag_s ?? null);
  if (memory.lags.length > HISTORY_MAX) memory.lags.shift();
  const scanned = row.items_scanned ?? 0;
  const isAnother = row.state !== "INIT_SYNC" || scanned < memory.scans.at(-1)?.items;
  if (isAnother) memory.scans = [];
  else memory.scans.push({ atMs: nowMs, items: scanned });
  while (memory.scans.length > 2 && nowMs - memory.scans[1].atMs >= SPEED_WINDOW_MS) memory.scans.shift();
}

function tableOf(key, connector, row, memory) {
  return {
    key,
    connector,
    name: String(row.table),
    state: String(row.state ?? ""),
    degraded: row.degraded,
    reason: row.reason ?? "",
    topic: row.topic ?? "",
    sent: row.records_sent ?? null,
    lag: row.lag_s ?? null,
    readAge: row.last_read_age_s ?? null,
    shardsOpen: row.shards_open ?? null,
    shardsWaiting: row.shards_waiting ?? 0,
    gaps: row.gaps ?? 0,
    scan: scanOf(row, memory.scans),
    lags: memory.lags,
  };
}

/** How far an initial scan is. `share` is null while the size is unknown, or known to be wrong. */
function scanOf(row, samples) {
  const items = row.items_scanned ?? 0;
  const estimated = row.items_estimated ?? 0;
  const isRunning = row.state === "INIT_SYNC";
  const speed = row.scan?.items_per_s ?? speedOf(samples);
  const isPlausible = estimated > items;
  const left = speed > 0 && isPlausible ? (estimated - items) / speed : null;
  return {
    isRunning,
    items,
    estimated,
    share: isPlausible ? items / estimated : null,
    speed,
    left: row.scan?.left_s ?? left,
    engine: row.scan?.engine ?? "",
  };
}

function speedOf(samples) {
  if (samples.length < 2) return null;
  const [first, last] = [samples[0], samples.at(-1)];
  return (last.items - first.items) / ((last.atMs - first.atMs) / 1000);
}

// -- choosing -----------------------------------------------------------------------------------

export const ORDERS = {
  attention: (a, b) =>
    urgencyOf(standingOf(a)) - urgencyOf(standingOf(b)) || (b.reason !== "") - (a.reason !== ""),
  name: (a, b) => compareText(a.name, b.name),
  connector: (a, b) => compareText(a.connector, b.connector),
  scan: (a, b) => shareForOrder(a) - shareForOrder(b),
  lag: (a, b) => (a.lag ?? -1) - (b.lag ?? -1),
  sent: (a, b) => (a.sent ?? -1) - (b.sent ?? -1),
};

const shareForOrder = ({ scan }) => (scan.isRunning ? scan.share ?? 0 : 2);

/** The tables that fit, in order; equal ones by name. `connector` and `state` null: any. */
export function chosen(tables, { text, connector, state, order, isDescending }) {
  const wanted = text.trim().toLowerCase();
  const contains = (value) => value.toLowerCase().includes(wanted);
  const fits = (table) =>
    (connector === null || table.connector === connector) &&
    (state === null || standingOf(table) === state) &&
    (wanted === "" || contains(table.name) || contains(table.topic) || contains(table.reason));
  const compare = ORDERS[order];
  const sign = isDescending ? -1 : 1;
  return tables.filter(fits).sort((a, b) =>
    sign * compare(a, b) || ORDERS.name(a, b) || ORDERS.connector(a, b));
}

/** States that are there, the most urgent first. */
export function statesOf(tables) {
  const states = [...new Set(tables.map(standingOf))];
  return states.sort((a, b) => urgencyOf(a) - urgencyOf(b) || compareText(a, b));
}
