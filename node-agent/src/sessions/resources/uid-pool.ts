/** Users of sessions when the agent is root: one uid each from a reserved range. The gid equals the uid. */
export class UidPool {
  readonly #low: number;
  readonly #high: number;
  readonly #taken = new Set<number>();
  #next: number;

  /** @param range inclusive range of uids */
  constructor(range: readonly [number, number]) {
    this.#low = range[0];
    this.#high = range[1];
    this.#next = range[0];
  }

  contains(uid: number): boolean {
    return uid >= this.#low && uid <= this.#high;
  }

  /**
   * @param preferred uid that owns the session's home; if the session gets this uid, the owner of the files does not
   * have to be changed. null: no preference
   * @returns null when all uids are in use
   */
  take(preferred: number | null): number | null {
    if (preferred !== null && this.contains(preferred) && !this.#taken.has(preferred)) {
      this.#taken.add(preferred);
      return preferred;
    }
    for (let tries = 0; tries <= this.#high - this.#low; tries++) {
      const uid = this.#next;
      // Round robin, so that the time before a uid is reused is as long as possible.
      this.#next = uid === this.#high ? this.#low : uid + 1;
      if (this.#taken.has(uid)) continue;
      this.#taken.add(uid);
      return uid;
    }
    return null;
  }

  release(uid: number): void {
    this.#taken.delete(uid);
  }
}
