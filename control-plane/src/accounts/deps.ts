import type { SessionEndReason } from '@footlight/protocol';
import type { Entitlement } from '@footlight/protocol/rest';
import type { BucketShape } from '../platform/buckets/bucket-rules.ts';
import type { Tx } from '../platform/database/index.ts';
import type { Settings } from '../settings/index.ts';
import type { ClaimLimits } from './sign-in/limit-rules.ts';
import type { HashCost, HashQueueShape } from './sign-in/password-hasher.ts';

/** Certificate of the TLS listener. */
export interface CertificateInForce {
  source: 'self_signed' | 'provided';
  /** DER, leaf first. */
  chain: readonly Buffer[];
  /** SHA-256 of the leaf's DER, upper-case hex pairs with colons. */
  fingerprint: string;
  /** Why the last order of a certificate over ACME failed. */
  orderProblem?: string;
}

/** Dependencies of the accounts on other features. */
export interface AccountsDeps {
  settings: Settings;
  /** Adds the entitlements reserved for the first administrator, in the transaction that creates the account. */
  grantFirstAdminApps(tx: Tx, userId: string): Promise<void>;
  /** The account's own entitlements, sorted by app name. */
  listEntitlementsOfUser(userId: string): Promise<Entitlement[]>;
  /** Stops the sessions and stores the reason. Best effort: failures are logged. */
  stopSessions(ids: readonly string[], reason: SessionEndReason): Promise<void>;
  /** null: TLS is off. */
  certificate(): CertificateInForce | null;
  /** Defaults to the production limits. Tests raise them and lower the hash cost. */
  limits?: {
    signIn?: BucketShape;
    failedLogins?: BucketShape;
    /** Shape of the bucket of each route that is limited per user. */
    perUser?: BucketShape;
    claim?: ClaimLimits;
    hashQueue?: HashQueueShape;
    hashCost?: HashCost;
  };
}
