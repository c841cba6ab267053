export type { Agents } from './agents.ts';
export type { ConsoleSession, ConsoleSessions } from './console/starter.ts';
export type {
  AgentHandlers,
  HostPresence,
  ImageHandlers,
  Links,
  RegisteringHost,
  ReliableEvent,
} from './fleet.ts';
export { registerFleetRoutes } from './routes.ts';
export { createFleet, type FleetDeps, type FleetService } from './service.ts';
export { encoderBudgetReader } from './settings/encoder-budget-reader.ts';
export { type SettingValues, settingsInForce } from './settings/host-settings.ts';
export { type CommandResult, hostSubjects } from './subjects.ts';
