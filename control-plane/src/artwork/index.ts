export { registerArtworkRoutes } from './routes.ts';
export { type Artwork, type ArtworkDeps, createArtwork } from './service.ts';
