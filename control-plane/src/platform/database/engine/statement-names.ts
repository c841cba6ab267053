/** Postgres keeps the plan of a named statement until the connection ends. Lists of many lengths make many statements. */
const MAX_NAMES = 1_000;

/** Statements with a plan that is worth keeping: no changes of the schema, and none that begins or ends a transaction. */
const PLANNED = /^(select|insert|update|delete|with)\b/;

/** Names of the statements of one database, so that Postgres parses and plans each once for each connection. */
export class StatementNames {
  #names = new Map<string, string>();
  /** Number of names so far: no name is used twice. */
  #given = 0;

  /** @returns undefined: a one-time text, or one more than are kept */
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
   * @param name of a statement whose plan is outdated; nothing happens when another connection reported that before
   */
  renew(text: string, name: string): void {
    if (this.#names.get(text) === name) this.#names = new Map();
  }
}
