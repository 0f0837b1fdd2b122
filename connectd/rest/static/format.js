// Numbers and times in words. Pure.

const INTEGER = new Intl.NumberFormat("en");
const TENTHS = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" });

export const integer = (value) => INTEGER.format(value);

export const clock = (date) => CLOCK.format(date);

/** "1 task", "3 tasks". */
export const counted = (count, noun) => `${integer(count)} ${noun}${count === 1 ? "" : "s"}`;

/** "RUNNING", or "3 RUNNING, 1 FAILED": how often each value is there. */
export function tally(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  if (counts.size === 1) return values[0];
  return [...counts].map(([value, count]) => `${integer(count)} ${value}`).join(", ");
}

/** A duration in its one or two largest units: "0.4 s", "42 s", "3 min", "2 h 5 min", "4 d 3 h". */
export function duration(seconds) {
  if (seconds < 10) return `${TENTHS.format(seconds)} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return two(minutes, 60, "h", "min");
  return two(Math.round(minutes / 60), 24, "d", "h");
}

function two(value, size, large, small) {
  const rest = value % size;
  const first = `${Math.floor(value / size)} ${large}`;
  return rest === 0 ? first : `${first} ${rest} ${small}`;
}
