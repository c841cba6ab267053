import type { Logger } from '@footlight/platform';
import { ApiError } from '../../platform/errors.ts';

const VERSION = /^v?([0-9]+)\.([0-9]+)\.([0-9]+)$/;
/** Distinct malformed versions that are worth a line in the log. */
const MAX_WARNED = 32;

interface VersionPolicy {
  /** Older clients are refused; null: no client is. */
  minClientVersion: string | null;
  /** Advice to clients, never a reason to refuse; null: none. */
  latestClientVersion: string | null;
}

/** Refuses clients that are older than the server can serve. */
export interface VersionGate {
  /**
   * Judges header X-Service-Client-Version. A malformed value passes: it comes from tools, not from clients of ours.
   * @throws ApiError client_too_old
   */
  checkHeader(presented: string | undefined): void;
  /**
   * Judges client_version of a login. A malformed value is refused while there is a floor.
   * @throws ApiError client_too_old
   */
  checkLogin(presented: string | null | undefined): void;
  /** Version members of every answer that signs somebody in. */
  readonly advice: { min_client_version?: string; latest_client_version?: string };
}

/** Makes the gate. Both versions have been checked to fit the grammar when the configuration was read. */
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

/** Digits of the three parts, without leading zeros; null when the text does not fit the grammar. */
function parseVersion(text: string): string[] | null {
  const match = VERSION.exec(text);
  return match === null ? null : match.slice(1).map((part) => part.replace(/^0+(?=[0-9])/, ''));
}

/**
 * Below zero when a is older than b; parts are compared as numbers of any length. Digits are compared as they stand:
 * making a number of a million of them would hold everybody up, for somebody who has not even signed in.
 */
function compareVersions(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index] ?? '0';
    if (part.length !== other.length) return part.length - other.length;
    if (part !== other) return part < other ? -1 : 1;
  }
  return 0;
}
