import { readFileSync } from 'node:fs';

/** Version of this agent, from its package.json. */
export const AGENT_VERSION: string = readVersion();

function readVersion(): string {
  try {
    const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(text) as { version?: unknown };
    return typeof version === 'string' ? version : '0.0.0';
  } catch {
    return '0.0.0';
  }
}
