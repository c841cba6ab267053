/**
 * Maximum number of named statements. Postgres keeps the plan of each one in memory until the connection ends, and an
 * `in (…)` list with another number of values is another statement.
 */
const MAX_NAMES = 1_000;

/** Statements whose plan should be kept. Schema changes and statements that begin or end a transaction are excluded. */
const PLANNED = /^(select|insert|update|delete|with)\b/;

/**
 * Names of the statements of one database, so that Postgres parses and plans each statement only once per connection.
 */
export class StatementNames {
  #names = new Map<string, string>();
  /** Number of names that were given; it makes every name unique. */
  #given = 0;

  /** @returns undefined: the statement needs no kept plan, or the maximum is reached */
  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_NAMES || !PLANNED.test(text)) return undefined;
    this.#given += 1;
    const name = `footlight_${this.#given}`;
    this.#names.set(text, name);
    return name;
  }

  /**
   * Renames all statements, so that Postgres plans them again.
   * @param name name of a statement whose plan is outdated; nothing happens if another connection has already reported
   *   it
   */
  renew(text: string, name: string): void {
    if (this.#names.get(text) === name) this.#names = new Map();
  }
}
