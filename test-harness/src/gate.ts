/**
 * True in the gate, `scripts/test` without `--all`: its files use only SQLite, and check a page twice, where the whole
 * run checks it at each size and in each scheme.
 */
export const isGate = process.env.FOOTLIGHT_TEST_DATABASES === 'sqlite';
