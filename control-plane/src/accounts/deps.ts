import type { Entitlement } from '@footlight/protocol/rest';
import type { Tx } from '../platform/database/index.ts';
import type { Settings } from '../settings/index.ts';
import type { HashCost, HashQueueShape } from './sign-in/password-hasher.ts';
import type { BucketShape, ClaimLimits } from './sign-in/rate-limits.ts';

/** The certificate that the TLS listener presents. */
export interface CertificateInForce {
  source: 'self_signed' | 'provided';
  /** DER, the leaf first. */
  chain: readonly Buffer[];
  /** SHA-256 of the leaf's DER, upper-case hex pairs with colons. */
  fingerprint: string;
}

/** What the accounts need from other parts of the service. */
export interface AccountsDeps {
  settings: Settings;
  /** Adds the rows for apps that were kept for the first administrator, in the transaction that makes that account. */
  grantFirstAdminApps(tx: Tx, userId: string): Promise<void>;
  /** What an account may use by rows of its own, by app name. */
  listEntitlementsOfUser(userId: string): Promise<Entitlement[]>;
  /** Asks for the end of sessions, for a reason that they keep. Best effort: what fails is logged. */
  stopSessions(ids: readonly string[], reason: 'device_revoked' | 'account_disabled'): Promise<void>;
  /** null: TLS is off. */
  certificate(): CertificateInForce | null;
  /** Left out: what people meet. Tests that are not about limits raise them, and hash at less cost. */
  limits?: {
    signIn?: BucketShape;
    failedLogins?: BucketShape;
    /** Of each route that is limited per user. */
    perUser?: BucketShape;
    claim?: ClaimLimits;
    hashQueue?: HashQueueShape;
    hashCost?: HashCost;
  };
}
