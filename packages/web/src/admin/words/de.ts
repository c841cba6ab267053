import type { Table } from '../../words/words.ts';

/** German of the administrators' pages, by the English text. Texts that users see too are in `src/words/de`. */
const german: Table = {};

export default german;
