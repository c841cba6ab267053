export { mintIceServers } from './ice-servers.ts';
export { createHandshakeLimiter } from './limiter.ts';
export { registerSignalingRoutes } from './routes.ts';
export { createSignaling } from './service.ts';
export { type SessionChange, type SessionDirectory, sessionSubjects } from './subjects.ts';
export { createSignalingTokens, type SignalingToken, type SignalingTokens } from './tokens.ts';
