export { registerRecordingsRoutes } from './routes.ts';
export { createRecordings, type Recordings } from './service.ts';
