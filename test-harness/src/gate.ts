/**
 * True in the gate, `scripts/test` without `--all`: files that are in it use SQLite alone, and take two looks at a page
 * where the whole run takes one for each size and scheme.
 */
export const isGate = process.env.FOOTLIGHT_TEST_DATABASES === 'sqlite';
