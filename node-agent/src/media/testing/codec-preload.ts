import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** NODE_OPTIONS with which a process that runs the agent from source has the encoders for tests in its table. */
export function codecPreload(): string {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return `--import ${loader} --import ${new URL('./codec-encoders.ts', import.meta.url).href}`;
}
