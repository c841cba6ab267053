import type { Platform } from '../platform/platform.ts';

/** Platform of the jobs feature: without `jobs`, because this feature provides it. */
export type JobsPlatform = Omit<Platform, 'jobs' | 'periodicWriter' | 'webhook' | 'writeBatch'>;
