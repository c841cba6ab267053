export {
  type Clock,
  DAY_MS,
  delay,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  systemClock,
  type Timer,
  within,
} from './clock.ts';
export { mergeEnvironment, parseEnvironment, renderEnvironment } from './env-file.ts';
export { errorText, plainText } from './error-text.ts';
export { createLogger, type Logger, silentLogger } from './logger.ts';
export { type Random, systemRandom } from './random.ts';
export { isSystemdRunning, readStoredEnvironment, startService, writeWhole } from './service-install.ts';
export { connectServiceManager, ServicePulse, watchdogMs } from './service-manager.ts';
export { TokenBucket } from './token-bucket.ts';
export { type Environment, lookUpVariable } from './variables.ts';
export { WindowCounter } from './window-counter.ts';
