export { withLoopWatched } from './event-loop.ts';
export { fastClock } from './fast-clock.ts';
export { ManualClock, TEST_EPOCH_MS } from './manual-clock.ts';
export { seededRandom } from './seeded-random.ts';
