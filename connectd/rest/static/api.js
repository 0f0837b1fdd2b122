// What the worker is asked. URLs are relative to the page's, so a proxy may serve the worker under a
// path of its own; the browser adds the login, where one is needed, by itself.

const READ_DEADLINE_MS = 15_000;
const CHANGE_DEADLINE_MS = 120_000; // the worker's own limit is 90 s
const READS_AT_ONCE = 4;

/** The worker has not answered, or has refused; `status` is 0 when nothing came back. */
export class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

/** Whether a browser can name it in a URL: it takes these two as directions, in any spelling. */
export const isAddressable = (name) => name !== "." && name !== "..";

/** A path of these segments, each of them encoded. */
export function pathOf(...segments) {
  const lost = segments.find((segment) => !isAddressable(String(segment)));
  if (lost !== undefined) throw new ApiError(`A browser cannot send a request for the name "${lost}"`);
  return segments.map(encodeURIComponent).join("/");
}

/** GET, as JSON. */
export const read = (path) => ask("GET", path, READ_DEADLINE_MS);

/** What the readiness probe says: a worker that is not ready answers 503, with its reasons. */
export const readReadiness = () => ask("GET", "connectd/health/ready", READ_DEADLINE_MS, 503);

/** A request that changes something; answers the body, or null where there is none. */
export const change = (method, path) => ask(method, path, CHANGE_DEADLINE_MS);

/** `read` for each of many, a few at a time; results in their order. */
export async function readEach(paths) {
  const results = [];
  const left = paths.entries();
  const reader = async () => {
    for (const [index, path] of left) results[index] = await settled(read(path));
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, reader));
  return results;
}

/** The value, or the error where the worker answered with one; no answer at all is thrown. */
async function settled(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof ApiError && error.status > 0 && error.status !== 401) return error;
    throw error;
  }
}

async function ask(method, path, deadlineMs, goodStatus = 200) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: { Accept: "application/json" },
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(deadlineMs),
    });
    if (response.ok || response.status === goodStatus) return await bodyOf(response);
  } catch (error) {
    if (error.name === "TimeoutError") {
      throw new ApiError(`The worker has not answered within ${deadlineMs / 1000} s`);
    }
    throw new ApiError("The worker cannot be reached");
  }
  throw new ApiError(await messageOf(response), response.status);
}

async function bodyOf(response) {
  const text = await response.text();
  return text === "" ? null : JSON.parse(text);
}

async function messageOf(response) {
  if (response.status === 401) return "The worker wants a login: load this page again to give one";
  try {
    const { message } = await response.json();
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // A proxy in between may answer in another form; its status says enough.
  }
  return `The worker answered ${response.status} ${response.statusText}`.trim();
}
