import type { InstanceSettings } from '@footlight/protocol/rest';
import { createTokenBuckets, type TokenBuckets } from '../platform/buckets/token-buckets.ts';
import type { Authenticate } from '../platform/http/message/contract.ts';
import type { Platform } from '../platform/platform.ts';
import type { AccountsDeps } from './deps.ts';
import { createDevSessions, type DevSessions } from './dev-session/service.ts';
import { createDevices, type Devices } from './devices/service.ts';
import { createInvites, type Invites } from './invites/service.ts';
import { createOidc, type Oidc } from './oidc/service.ts';
import { createPasswordChange, type PasswordChange } from './password/password-change.ts';
import { createPasswordReset, type PasswordReset } from './password/password-reset.ts';
import { createPreferences, type Preferences } from './preferences/service.ts';
import { createRegistration, type Registration } from './registration.ts';
import { createSetup, type Setup } from './setup/setup.ts';
import { createSetupToken, type SetupToken } from './setup/setup-token.ts';
import { createVersionGate, type VersionGate } from './sign-in/client-version.ts';
import { createPasswordHasher } from './sign-in/password-hasher.ts';
import {
  CLAIM_LIMITS,
  CLAIM_LOG_BUCKET,
  type ClaimLimiter,
  createClaimLimiter,
  createLoginAttempts,
  FAILED_LOGIN_BUCKET,
  PER_USER_BUCKET,
  SIGN_IN_BUCKET,
} from './sign-in/rate-limits.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { type BearerTokens, createBearerTokens } from './tokens/bearer-tokens.ts';
import { createUsers, type Users } from './users/service.ts';

/** Accounts: registration, sign-in, tokens. */
export interface Accounts {
  /** The server's bearer check. */
  readonly authenticate: Authenticate;
  /** Refuses a client that is too old. The server calls it after the bearer check and before the role check. */
  checkClientVersion(presented: string | undefined): void;
  /**
   * Whether a caller's token is still valid; used by event streams, which stay open after the check of their request.
   */
  isTokenLive(tokenId: string): Promise<boolean>;
  /** Whether a Cookie header opens the administrators' pages. */
  opensAdminPages(cookieHeader: string | undefined): Promise<boolean>;
  adminExists(): Promise<boolean>;
  /** Who may register; the cached value is at most 2 s old. null: the settings cannot be read. Never rejects. */
  registrationMode(): Promise<InstanceSettings['registration_mode'] | null>;
  /**
   * Ensures that an administrator exists or can be created. If none exists, creates the one that the environment
   * variables define, or writes the setup token's file. Runs after the migrations and the storage of the initial
   * values, before the server listens.
   * @throws when the environment's values are invalid, or the file cannot be written
   */
  boot(): Promise<void>;
  close(): void;
  /** Services used by this feature's routes. */
  readonly services: AccountsServices;
}

interface AccountsServices {
  registration: Registration;
  setup: Setup;
  setupToken: SetupToken;
  tokens: BearerTokens;
  versionGate: VersionGate;
  devices: Devices;
  passwordChange: PasswordChange;
  passwordReset: PasswordReset;
  preferences: Preferences;
  signInBuckets: TokenBuckets;
  deviceBuckets: TokenBuckets;
  passwordBuckets: TokenBuckets;
  claimLimiter: ClaimLimiter;
  claimLog: TokenBuckets;
  users: Users;
  invites: Invites;
  devSessions: DevSessions;
  /** null: no provider is configured. */
  oidc: Oidc | null;
}

export function createAccounts(platform: Platform, deps: AccountsDeps): Accounts {
  const { clock, config, logger, random } = platform;
  const hasher = createPasswordHasher(random, deps.limits?.hashQueue, deps.limits?.hashCost);
  const guesses = createLoginAttempts(deps.limits?.failedLogins ?? FAILED_LOGIN_BUCKET, clock);
  const versionGate = createVersionGate(config.accounts, logger);
  const signIn = createSignIn(platform, versionGate);
  const setupToken = createSetupToken(platform);
  const setup = createSetup(platform, deps, { hasher, signIn, setupToken });
  const devSessions = createDevSessions(platform, signIn);
  const tokens = createBearerTokens(platform, { guesses, hasher, signIn, versionGate });

  const perUser = deps.limits?.perUser ?? PER_USER_BUCKET;

  return {
    authenticate: tokens.authenticate,
    checkClientVersion: versionGate.checkHeader,
    isTokenLive: tokens.isTokenLive,
    opensAdminPages: tokens.opensAdminPages,
    adminExists: async () => (await setup.status()).admin_exists,
    registrationMode: () =>
      deps.settings.current().then(
        (settings) => settings.registrationMode,
        // Not logged here, because /health already reports a database that does not answer.
        () => null,
      ),
    async boot() {
      await setup.bootstrap();
      await setupToken.start();
      await devSessions.start();
    },
    close: () => setupToken.close(),
    services: {
      registration: createRegistration(platform, hasher),
      setup,
      setupToken,
      tokens,
      versionGate,
      devices: createDevices(platform, deps),
      passwordChange: createPasswordChange(platform, hasher),
      passwordReset: createPasswordReset(platform, { hasher, signIn }),
      preferences: createPreferences(platform),
      signInBuckets: createTokenBuckets(deps.limits?.signIn ?? SIGN_IN_BUCKET, clock),
      deviceBuckets: createTokenBuckets(perUser, clock),
      passwordBuckets: createTokenBuckets(perUser, clock),
      claimLog: createTokenBuckets(CLAIM_LOG_BUCKET, clock),
      claimLimiter: createClaimLimiter(deps.limits?.claim ?? CLAIM_LIMITS, clock),
      users: createUsers(platform, deps),
      invites: createInvites(platform),
      devSessions,
      oidc: config.accounts.oidc && createOidc(platform, config.accounts.oidc, signIn, deps),
    },
  };
}
