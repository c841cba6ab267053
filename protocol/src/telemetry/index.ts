/** Names of the measurements and events that sessions report. */
export * from './events.ts';
export * from './log-events.ts';
export * from './metrics.ts';
