export { fastClock } from './fast-clock.ts';
export { ManualClock, TEST_EPOCH_MS } from './manual-clock.ts';
