/**
 * True in the gate, `scripts/test` without `--all`: its files use only SQLite and check each page twice. The whole run
 * checks each page at every size and in every scheme.
 */
export const isGate = process.env.FOOTLIGHT_TEST_DATABASES === 'sqlite';
