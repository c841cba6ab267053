export type { ConsoleSession, ConsoleSessions } from './console/starter.ts';
export type {
  AgentHandlers,
  CommandResult,
  Fleet,
} from './fleet.ts';
export { registerFleetRoutes } from './routes.ts';
export { createFleet, type FleetDeps, type FleetService } from './service.ts';
export { encoderBudgetReader } from './settings/encoder-budget.ts';
export { type SettingValues, settingsInForce } from './settings/host-settings.ts';
