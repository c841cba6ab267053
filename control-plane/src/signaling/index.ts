export {
  changedSubject,
  linkSubject,
  type SessionChange,
  type SessionDirectory,
  type SignalToViewer,
  signalSubject,
} from './ports.ts';
export { registerSignalingRoutes } from './routes.ts';
export { createSignaling } from './service.ts';
export { createSignalingTokens, type MintedToken, type SignalingTokens } from './tokens.ts';
