import type { Logger } from '@footlight/platform';
import { ApiError } from '../../platform/errors.ts';

const VERSION = /^v?([0-9]+)\.([0-9]+)\.([0-9]+)$/;
/** Maximum distinct malformed versions that are logged. */
const MAX_WARNED = 32;

interface VersionPolicy {
  /** Clients older than this are refused; null: no minimum is set. */
  minClientVersion: string | null;
  /** Reported to clients as advice and never a reason to refuse them. null: no version is set. */
  latestClientVersion: string | null;
}

/** Refuses clients that are too old for this server. */
export interface VersionGate {
  /**
   * Checks the header X-Service-Client-Version. A malformed value passes, because only tools send one.
   * @throws ApiError client_too_old
   */
  checkHeader(presented: string | undefined): void;
  /**
   * Checks client_version of a login. A malformed value is refused while a minimum is set.
   * @throws ApiError client_too_old
   */
  checkLogin(presented: string | null | undefined): void;
  /** Version fields that every sign-in answer contains. */
  readonly advice: { min_client_version?: string; latest_client_version?: string };
}

/** Creates the gate. The configuration has validated both versions. */
export function createVersionGate(policy: VersionPolicy, logger: Logger): VersionGate {
  const { minClientVersion, latestClientVersion } = policy;
  const floor = minClientVersion === null ? null : parseVersion(minClientVersion);
  const advice = {
    ...(minClientVersion !== null && { min_client_version: minClientVersion }),
    ...(latestClientVersion !== null && { latest_client_version: latestClientVersion }),
  };
  const warned = new Set<string>();

  function tooOld(): ApiError {
    return new ApiError('client_too_old', { siblings: advice });
  }

  return {
    advice,
    checkHeader(presented) {
      if (presented === undefined || presented === '') return;
      const version = parseVersion(presented);
      if (version === null) {
        if (warned.size < MAX_WARNED && !warned.has(presented)) {
          warned.add(presented);
          logger.warn({ presented: presented.slice(0, 64) }, 'accounts.client_version_malformed');
        }
        return;
      }
      if (floor !== null && compareVersions(version, floor) < 0) throw tooOld();
    },
    checkLogin(presented) {
      if (floor === null || presented === undefined || presented === null || presented === '') return;
      const version = parseVersion(presented);
      if (version === null || compareVersions(version, floor) < 0) throw tooOld();
    },
  };
}

/** Digits of the three parts, without leading zeros; null for a malformed text. */
function parseVersion(text: string): string[] | null {
  const match = VERSION.exec(text);
  return match === null ? null : match.slice(1).map((part) => part.replace(/^0+(?=[0-9])/, ''));
}

/**
 * Negative when a is older than b. Parts of any length are compared as digit strings: converting a million digits would
 * block the event loop before sign-in.
 */
function compareVersions(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index] ?? '0';
    if (part.length !== other.length) return part.length - other.length;
    if (part !== other) return part < other ? -1 : 1;
  }
  return 0;
}
