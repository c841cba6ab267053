export { registerProfilesRoutes } from './routes.ts';
export { createProfiles, type Profiles } from './service.ts';
