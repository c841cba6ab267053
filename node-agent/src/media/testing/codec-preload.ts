import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { BUILT_ENTRIES_VARIABLE } from '../worker/child-entry.ts';

/** Environment variables of agent processes that run from source with the test encoders. */
export function codecPreload(): Record<string, string> {
  return preload('./codec-encoders.ts');
}

/** The same for a process whose encoder accepts a picture but never returns one. */
export function hangingEncoderPreload(): Record<string, string> {
  return preload('./hanging-encoder.ts');
}

function preload(module: string): Record<string, string> {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const options = `--import ${loader} --import ${new URL(module, import.meta.url).href}`;
  return { NODE_OPTIONS: options, [BUILT_ENTRIES_VARIABLE]: '' };
}
