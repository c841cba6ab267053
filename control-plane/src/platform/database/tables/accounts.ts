import type { Generated } from 'kysely';
import type { Flag } from '../codec.ts';

/** People, their devices and tokens, and instance-wide values. */
export interface AccountsTables {
  users: UsersTable;
  devices: DevicesTable;
  auth_tokens: AuthTokensTable;
  invites: InvitesTable;
  oidc_identities: OidcIdentitiesTable;
  oidc_logins: OidcLoginsTable;
  instance_settings: InstanceSettingsTable;
}

export interface UsersTable {
  id: string;
  /** Trimmed and lowercased; unique. */
  email: string;
  /** Trimmed; unique, case-sensitive. */
  username: string;
  /** Folded username; unique, so that no two usernames look equal. null: the account is internal. */
  username_folded: string | null;
  /** argon2id PHC string; `hasPassword` says whether any password can match it. */
  password_hash: string;
  role: 'user' | 'admin';
  disabled_at: number | null;
  max_concurrent_sessions: number;
  /** SHA-256 hex of the token of the account's reset link; null: it has none. */
  password_reset_hash: string | null;
  /** null: the account has no link. */
  password_reset_expires_at: number | null;
  /** Expiry of a temporary account; null: the account does not expire. */
  ephemeral_expires_at: number | null;
  /** 1: cannot sign in and is never shown. */
  internal: Flag;
  created_at: number;
  updated_at: number;
}

export interface DevicesTable {
  id: string;
  user_id: string;
  /** Chosen by the client; unique per user. */
  device_key: string;
  name: string | null;
  trusted: Flag;
  user_agent: string | null;
  /** JSON object; {} until the client posts a probe. */
  capabilities: string;
  first_seen_at: number;
  last_seen_at: number;
}

export interface AuthTokensTable {
  id: string;
  user_id: string;
  /** SHA-256 hex of the token; the look-up key. */
  token_hash: string;
  /** SHA-256 hex of the token's page cookie. */
  page_hash: string;
  device_id: string | null;
  user_agent: string | null;
  expires_at: number;
  revoked_at: number | null;
  last_used_at: number | null;
  created_at: number;
}

export interface InvitesTable {
  id: string;
  /** SHA-256 hex of the code. */
  code_hash: string;
  role: 'user' | 'admin';
  max_uses: number;
  used_count: number;
  expires_at: number | null;
  revoked_at: number | null;
  note: string | null;
  created_by_user_id: string | null;
  created_at: number;
}

/** A person of an OpenID Connect provider, linked to an account. */
export interface OidcIdentitiesTable {
  issuer: string;
  /** Id of the person at this issuer; it never changes. */
  subject: string;
  user_id: string;
  created_at: number;
}

/** Sign-ins with the provider that were started and not finished. */
export interface OidcLoginsTable {
  /** SHA-256 hex of the browser's cookie and the state; each sign-in has its own. */
  login_hash: string;
  expires_at: number;
}

/** One row with id 1, inserted by the migration. */
export interface InstanceSettingsTable {
  id: number;
  registration_mode: 'closed' | 'invite_only' | 'open';
  storage_provider: 'auto' | 'local' | 'volume';
  library_discovery_enabled: Flag;
  library_discovery_interval_minutes: number;
  library_discovery_appdetails_enabled: Flag;
  mic_capture_enabled: Flag;
  guest_sharing_enabled: Generated<Flag>;
  image_update_policy: 'manual' | 'notify' | 'auto';
  flight_recorder_enabled: Flag;
  /** JSON array of normalized origins. */
  allowed_origins: string;
  updated_by: string | null;
  updated_at: number;
  /** 0 until a start has stored the initial values from the environment variables. */
  seeded: Flag;
  setup_completed_at: number | null;
  /** SHA-256 hex of the valid setup token; null if an administrator existed at boot. */
  setup_token_digest: string | null;
}
