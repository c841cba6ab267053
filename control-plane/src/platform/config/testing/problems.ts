import { ConfigError, loadConfig } from '../config.ts';

/** The problems with which the service refuses to start in this environment. */
export function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
