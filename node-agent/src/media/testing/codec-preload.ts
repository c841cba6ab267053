import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** NODE_OPTIONS with which a process that runs the agent from source has the encoders for tests in its table. */
export function codecPreload(): string {
  return preload('./codec-encoders.ts');
}

/** The same for a process whose encoder takes a picture and gives none. */
export function hangingEncoderPreload(): string {
  return preload('./hanging-encoder.ts');
}

function preload(module: string): string {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return `--import ${loader} --import ${new URL(module, import.meta.url).href}`;
}
