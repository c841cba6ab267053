export { registerCertificationRoutes } from './routes.ts';
export { createCertification } from './service.ts';
