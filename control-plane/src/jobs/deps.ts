import type { Platform } from '../platform/platform.ts';

/** What the jobs feature needs, which is itself a part of every feature's platform. */
export type JobsPlatform = Omit<Platform, 'jobs' | 'periodicWriter' | 'writeBatch'>;
