// What the buttons do, and what people are told before it is done. An action has a `label`; `refusal`
// says why it makes no sense now ("" when it does); `ask` is the question: its title, its sentences,
// and the answers that lead to requests; with `wantsName` they wait for the connector's name.

import { pathOf } from "./api.js";
import { counted } from "./format.js";

const isOfDynamoDb = (connector) => connector.class.includes("DynamoDB");

const inTime = (connector) => (isOfDynamoDb(connector)
  ? "Resume it in time. DynamoDB keeps changes for 24 hours: later than that, those in between are "
    + "lost, and gap.policy decides what follows."
  : "Resume it in time: its source may not keep for ever what it has to read.");

const fromTheBeginning = (connector) => (isOfDynamoDb(connector)
  ? "every table is scanned from the beginning, and every item is sent to Kafka again (with "
    + "init.sync.skip, what its stream still has)"
  : "it reads its source from the beginning, and sends everything to Kafka again");

const REPEATS = "It goes on from the last position that was saved, so some records may be sent twice.";

const request = (method, ...segments) => ({ method, path: pathOf("connectors", ...segments) });

const tasksOf = (connector) =>
  (connector.tasks.length === 1 ? "Its task" : `Its ${counted(connector.tasks.length, "task")}`);

/** Of what belongs to these tasks: "its place", "their place". */
const ofTasks = (connector, one, many) => (connector.tasks.length === 1 ? one : many);

const pause = {
  label: "Pause",
  refusal: ({ name, state }) => {
    if (state === "PAUSED") return `${name} is paused already.`;
    return state === "STOPPED" ? `${name} is stopped: there is nothing to pause.` : "";
  },
  ask: (connector) => ({
    title: `Pause ${connector.name}?`,
    words: [
      `${tasksOf(connector)} will stop reading and keep ${ofTasks(connector, "its", "their")} place; `
        + "nothing is written meanwhile.",
      inTime(connector),
    ],
    answers: [{ label: "Pause", done: "is being paused", ...request("PUT", connector.name, "pause") }],
  }),
};

const resume = {
  label: "Resume",
  refusal: ({ name, state }) =>
    (state === "PAUSED" || state === "STOPPED" ? "" : `${name} is neither paused nor stopped.`),
  ask: (connector) => ({
    title: `Resume ${connector.name}?`,
    words: [
      connector.state === "STOPPED"
        ? "It starts, gets its tasks again, and reads on from the saved positions; what has none "
          + "begins anew."
        : "Its tasks read on from where they are.",
    ],
    answers: [{ label: "Resume", done: "is being resumed", ...request("PUT", connector.name, "resume") }],
  }),
};

const restart = {
  label: "Restart",
  refusal: ({ name, state }) =>
    (state === "STOPPED" ? `${name} is stopped: resume it instead.` : ""),
  ask: (connector) => {
    const everything = {
      label: connector.isFailing ? "Restart everything" : "Restart",
      done: "is being restarted",
      ...request("POST", connector.name, "restart"),
    };
    everything.path += "?includeTasks=true";
    const failed = { ...everything, label: "Restart what has failed" };
    failed.path += "&onlyFailed=true";
    return {
      title: `Restart ${connector.name}?`,
      words: [
        `The connector and ${tasksOf(connector).toLowerCase()} stop and start again. ${REPEATS}`,
        ...(connector.isFailing
          ? ["Or restart only what has failed, and leave alone what runs: "
            + `${failures(connector)}. If the cause is still there, it fails again.`]
          : []),
      ],
      answers: connector.isFailing ? [failed, everything] : [everything],
    };
  },
};

function failures({ state, failedTasks }) {
  const tasks = failedTasks.map((task) => `task ${task.id}`).slice(0, 10);
  if (failedTasks.length > tasks.length) tasks.push("others");
  return [...(state === "FAILED" ? ["the connector"] : []), ...tasks].join(", ");
}

const stop = {
  label: "Stop",
  refusal: ({ name, state }) => (state === "STOPPED" ? `${name} is stopped already.` : ""),
  ask: (connector) => ({
    title: `Stop ${connector.name}?`,
    words: [
      `${tasksOf(connector)} will end and give back what `
        + `${ofTasks(connector, "it holds", "they hold")}. The configuration and the positions stay; `
        + "a pause ends less, and is enough to make it wait.",
      inTime(connector),
    ],
    answers: [{
      label: "Stop",
      done: "is stopped",
      isGrave: true,
      ...request("PUT", connector.name, "stop"),
    }],
  }),
};

const reset = {
  label: "Reset offsets",
  refusal: () => "",
  ask: (connector) => (connector.state === "STOPPED" ? {
    title: `Reset the offsets of ${connector.name}?`,
    wantsName: true,
    words: [
      "All its saved positions are deleted. This cannot be undone.",
      `When it is resumed, it begins anew: ${fromTheBeginning(connector)}. Records that are in `
        + "the topics stay there.",
    ],
    answers: [{
      label: "Reset offsets",
      done: "has no saved positions any more",
      isGrave: true,
      ...request("DELETE", connector.name, "offsets"),
    }],
  } : {
    title: `Stop ${connector.name} first?`,
    words: [
      `Offsets can be reset only while a connector is stopped, and ${connector.name} is `
        + `${connector.state}.`,
      `${tasksOf(connector)} will end. Its positions stay for now: you are asked again before they `
        + "are deleted.",
    ],
    answers: [{
      label: "Stop it first",
      done: "is stopped",
      isGrave: true,
      ...request("PUT", connector.name, "stop"),
      thenAsk: () => reset.ask({ ...connector, state: "STOPPED", tasks: [] }),
    }],
  }),
};

/** In the order of the buttons. */
export const CONNECTOR_ACTIONS = [pause, resume, restart, stop, reset];

/** The question before one task is restarted. */
export const restartTask = (connector, task) => ({
  title: `Restart task ${task.id} of ${connector.name}?`,
  words: [
    `This task stops and starts again; the others go on. ${REPEATS}`,
    ...(task.state === "FAILED" ? ["If the cause of its failure is still there, it fails again."] : []),
  ],
  answers: [{
    label: "Restart task",
    done: `restarts its task ${task.id}`,
    ...request("POST", connector.name, "tasks", task.id, "restart"),
  }],
});
