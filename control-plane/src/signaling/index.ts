export { registerSignalingRoutes } from './routes.ts';
export { createSignaling } from './service.ts';
export {
  changedSubject,
  linkSubject,
  type SessionChange,
  type SessionDirectory,
  type SignalToViewer,
  signalSubject,
} from './subjects.ts';
export { createSignalingTokens, type MintedToken, type SignalingTokens } from './tokens.ts';
