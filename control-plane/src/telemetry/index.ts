export type { ViewerSecond } from './ingest/client-samples.ts';
export type { ViewerReport } from './ingest/ingest.ts';
export { registerTelemetryRoutes } from './routes.ts';
export { createTelemetry, type Telemetry } from './service.ts';
export { registerViewerReportRoutes } from './viewer-routes.ts';
