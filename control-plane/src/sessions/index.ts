export { createSessionGate } from './access/session-gate.ts';
export { homeContainerPath } from './app-spec.ts';
export { registerGuestRoutes } from './guests/routes.ts';
export { registerVerdictRoutes } from './health/verdict-routes.ts';
export { createLauncher } from './launch/launch.ts';
export { registerSessionsRoutes } from './routes.ts';
export { createSessions, type Sessions } from './service.ts';
export { signalingUrl } from './signaling-url.ts';
