import type { Table } from '../translate.ts';
import { account } from './account.ts';
import { errors } from './errors.ts';
import { keyboards } from './keyboards.ts';
import { launch } from './launch.ts';
import { library } from './library.ts';
import { session } from './session.ts';
import { start } from './start.ts';
import { touch } from './touch.ts';

/** German of the users' pages, by the English text. */
const german: Table = {
  ...session,
  ...touch,
  ...keyboards,
  ...start,
  ...errors,
  ...library,
  ...launch,
  ...account,
};

export default german;
