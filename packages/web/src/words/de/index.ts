import type { Table } from '../words.ts';
import { errors } from './errors.ts';
import { start } from './start.ts';

/** German of the users' pages, by the English text. */
const german: Table = { ...start, ...errors };

export default german;
