import type { Table } from '../../i18n/translate.ts';

/** German of the administrators' pages, by the English text. Texts that users see too are in `src/i18n/de`. */
const german: Table = {};

export default german;
