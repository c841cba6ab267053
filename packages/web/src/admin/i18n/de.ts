import type { Table } from '../../i18n/translate.ts';

/** German texts of the administrators' pages, by the English text. Texts that users also see are in `src/i18n/de`. */
const german: Table = {};

export default german;
