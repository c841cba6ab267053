export { createTelemetry, type Telemetry } from './service.ts';
export type { ReliableEvent } from './store.ts';
