export type { AccountsDeps } from './deps.ts';
export type { Probe, ProbeFacts } from './devices/probe.ts';
export { findDeviceKey, loadLatestProbe, loadLatestProbes, NO_DEVICE } from './devices/store.ts';
export { registerAccountsRoutes } from './routes.ts';
export { createAccounts } from './service.ts';
export { adminExists, findAccount } from './store.ts';
