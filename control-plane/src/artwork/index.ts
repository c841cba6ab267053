export type { FetchPolicy } from './guarded-fetch.ts';
export { registerArtworkRoutes } from './routes.ts';
export { type Artwork, type ArtworkDeps, createArtwork } from './service.ts';
