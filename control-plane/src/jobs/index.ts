export { registerJobsRoutes } from './routes.ts';
export { createJobs, type JobsService } from './service.ts';
