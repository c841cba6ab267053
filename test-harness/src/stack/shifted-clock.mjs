// Loaded before a program: its wall clock is ahead by the milliseconds that the file FOOTLIGHT_CLOCK_FILE contained at
// its start. Timers are not affected.
import { readFileSync } from 'node:fs';

const aheadMs = Number(readFileSync(process.env.FOOTLIGHT_CLOCK_FILE ?? '', 'utf8'));
const now = Date.now.bind(Date);

Date.now = () => now() + aheadMs;
