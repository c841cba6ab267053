import type { Severity } from '@footlight/protocol/rest';

const REMOVALS = ['.deleted', '.delete', '.revoked', '.revoke', '.disabled', '.cleared'];
const DISRUPTIVE: ReadonlySet<string> = new Set(['host.drain', 'session.stop', 'storage.home.tombstone']);

/** Severity of an entry, derived from its action. Pure. Source: docs/configuration.md, "Activity log". */
export function severityOf(action: string): Severity {
  if (action.endsWith('.failed') || action.includes('error')) return 'err';
  if (DISRUPTIVE.has(action) || REMOVALS.some((ending) => action.endsWith(ending))) return 'warn';
  return 'info';
}
