// When the worker is asked: every few seconds while somebody may be looking, and never twice at once.
// A worker that is busy is asked less often, and one that is away goes on being asked.

const EVERY_MS = 5_000;
const REST_PER_WORK = 9; // at most a tenth of the time is spent asking

export class Refresher {
  #timer = 0;
  #isLoading = false;
  #isWantedAgain = false;
  #isPaused = false;
  #failure = null;
  #waitMs = EVERY_MS;
  #loadedAt = null;

  /**
   * `load` asks, `show` gets what it answered; `onChange` gets the situation: `phase` is loading,
   * live, paused, hidden or failing.
   */
  constructor({ load, show, onChange }) {
    this.load = load;
    this.show = show;
    this.onChange = onChange;
    document.addEventListener("visibilitychange", () => this.#onVisibility());
  }

  /** Ask now, or once more if this is going on: what is being told may be old already. */
  async now() {
    clearTimeout(this.#timer);
    if (this.#isLoading) {
      this.#isWantedAgain = true;
      return;
    }
    this.#isLoading = true;
    do {
      this.#isWantedAgain = false;
      await this.#once();
    } while (this.#isWantedAgain);
    this.#isLoading = false;
    this.#plan();
  }

  get isPaused() {
    return this.#isPaused;
  }

  pause() {
    this.#isPaused = true;
    this.#plan();
  }

  resume() {
    this.#isPaused = false;
    this.now();
  }

  async #once() {
    const beganMs = performance.now();
    try {
      const loaded = await this.load();
      this.#failure = null;
      this.#loadedAt = new Date();
      this.show(loaded);
    } catch (error) {
      this.#failure = error;
      if (error.name !== "ApiError") console.error(error);
    }
    const tookMs = performance.now() - beganMs;
    this.#waitMs = this.#failure ? EVERY_MS : Math.max(EVERY_MS, REST_PER_WORK * tookMs);
  }

  #plan() {
    clearTimeout(this.#timer);
    const isResting = this.#isPaused || document.hidden;
    if (!isResting) this.#timer = setTimeout(() => this.now(), this.#waitMs);
    this.onChange({
      phase: this.#phase(),
      failure: this.#failure,
      loadedAt: this.#loadedAt,
      waitMs: this.#waitMs,
    });
  }

  #phase() {
    if (this.#isPaused) return "paused";
    if (document.hidden) return "hidden";
    if (this.#failure) return "failing";
    return this.#loadedAt === null ? "loading" : "live";
  }

  #onVisibility() {
    if (document.hidden || this.#isPaused) this.#plan();
    else this.now();
  }
}
