export { registerLibraryRoutes } from './routes.ts';
export { createLibrary, type Library, type LibraryDeps } from './service.ts';
