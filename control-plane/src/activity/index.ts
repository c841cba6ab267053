export { linesOf, verifyLog } from './audit.ts';
export { sealingKeysOf } from './chain.ts';
export { readExport } from './export-file.ts';
export { registerActivityRoutes } from './routes.ts';
export { readLog } from './seal-store.ts';
export { registerSealing } from './sealing.ts';
export { createActivity } from './service.ts';
