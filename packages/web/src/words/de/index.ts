import type { Table } from '../words.ts';
import { account } from './account.ts';
import { errors } from './errors.ts';
import { library } from './library.ts';
import { start } from './start.ts';

/** German of the users' pages, by the English text. */
const german: Table = { ...start, ...errors, ...library, ...account };

export default german;
