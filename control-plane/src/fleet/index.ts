export type { ConsoleSession, ConsoleSessions } from './console/starter.ts';
export { encoderBudgetReader } from './encoder-budget.ts';
export { type SettingValues, settingsInForce } from './host-settings.ts';
export type {
  AgentHandlers,
  CommandResult,
  Fleet,
} from './ports.ts';
export { registerFleetRoutes } from './routes.ts';
export { createFleet, type FleetDeps, type FleetService } from './service.ts';
