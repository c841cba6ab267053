import { SECOND_MS } from '@footlight/platform';
import type { Body, DevSession, User } from '@footlight/protocol/rest';
import { instant } from '../../platform/database/codec.ts';
import type { Platform } from '../../platform/platform.ts';
import { unusableHash } from '../sign-in/password-hasher.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import { insertAccount } from '../store.ts';
import { createDevKey, type DevKey } from './key.ts';
import { registerReaper } from './reaper.ts';

/** Default lifetime: half an hour, enough for one run of a developer's program. A request can set up to eight hours. */
const DEFAULT_TTL_SECS = 1_800;
/** Four random bytes (2^32 names) make it unlikely that two programs get the same name. */
const SUFFIX_BYTES = 4;

/** Accounts for developers' programs. They are real accounts that pass the checks of their role, and they expire. */
export interface DevSessions {
  readonly key: DevKey;
  /** Creates the key if the feature is on, and deletes identities that expired while the service was down. */
  start(): Promise<void>;
  /**
   * Creates an account and signs it in; the account and its token expire at the same time. The caller has already
   * checked the developers' key.
   * @param address client address for the log
   */
  open(
    fields: Body<'dev.agentSession'>,
    origin: { userAgent: string | undefined; address: string },
  ): Promise<{ signedIn: SignedIn; session: DevSession }>;
}

export function createDevSessions(platform: Platform, signIn: SignIn): DevSessions {
  const { clock, config, database, logger, random } = platform;
  const key = createDevKey(platform);
  const reaper = registerReaper(platform);

  return {
    key,

    async start() {
      if (config.switchedOn.has('SERVICE_DEV_AGENT_AUTH')) await key.start();
      await reaper.runNow();
    },

    async open(fields, { userAgent, address }) {
      const role = fields.role ?? 'user';
      const id = random.uuid();
      const account = {
        id,
        email: `agent-${id}@dev.invalid`,
        username: `agent-${id.slice(0, 8)}-${random.bytes(SUFFIX_BYTES).toString('hex')}`,
        role,
      };
      const nowMs = clock.nowMs();
      const expiresAtMs = nowMs + (fields.ttl_seconds ?? DEFAULT_TTL_SECS) * SECOND_MS;
      const signedIn = await database.transaction(async (tx) => {
        const row = { ...account, password_hash: unusableHash(random), ephemeral_expires_at: expiresAtMs };
        await insertAccount(tx, row, nowMs);
        return signIn.issue(tx, account, { deviceKey: null, userAgent }, expiresAtMs);
      });
      logger[role === 'admin' ? 'warn' : 'info'](
        { user_id: id, role, address },
        'accounts.dev_session_opened',
      );
      const user: User = { ...account, created_at: instant(nowMs) };
      const { response } = signedIn;
      const storage_keys = {
        'service.auth.token': response.access_token,
        'service.auth.expires_at': response.expires_at,
        'service.auth.user': JSON.stringify(user),
      };
      return { signedIn, session: { ...response, user, storage_keys } };
    },
  };
}
