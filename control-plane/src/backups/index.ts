export { createMigrationBackup } from './before-migration.ts';
export { createBackupFolder } from './folder.ts';
export { registerBackupRoutes } from './routes.ts';
export { createBackups } from './service.ts';
