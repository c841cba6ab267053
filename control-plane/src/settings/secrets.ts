import type { SecretStatus } from '@footlight/protocol/rest';
import { instantOrNull } from '../platform/database/index.ts';
import { ApiError } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import type { Platform } from '../platform/platform.ts';
import { hintOf, NONCE_BYTES, openValue, sealValue } from './secret-cipher.ts';
import { DECLARED_SECRETS, type DeclaredSecret, findDeclared, type SecretName } from './secret-names.ts';
import { deleteSecret, findSecret, loadSecrets, putSecret, type SecretRow } from './secret-store.ts';

/** A usable secret. Callers must put the value only into their request to a provider, never into logs or answers. */
export interface ResolvedSecret {
  origin: 'none' | 'database' | 'environment';
  /** null if and only if origin is none. */
  value: string | null;
  /** Reason why a stored value cannot be used, for administrators. */
  problem?: string;
}

/** Secrets that administrators store. The service reads them; no answer shows a value. */
export interface Secrets {
  list(): Promise<{ secrets: SecretStatus[]; master_key_configured: boolean; key_versions: number[] }>;
  /** @throws ApiError not_found, conflict (no master key); in this order */
  set(
    actor: Caller,
    name: string,
    value: string,
  ): Promise<{ secret: SecretStatus; master_key_configured: boolean }>;
  /** Idempotent. @throws ApiError not_found for an unknown name */
  clear(actor: Caller, name: string): Promise<void>;
  /** The current value. It is read from the database each time, so that a change applies at once. */
  resolve(name: SecretName): Promise<ResolvedSecret>;
}

export function createSecrets(platform: Platform): Secrets {
  const { activity, clock, database, random } = platform;
  const { keys, environment } = platform.config.secrets;

  function requireDeclared(name: string): DeclaredSecret {
    const declared = findDeclared(name);
    if (declared === undefined) {
      const known = DECLARED_SECRETS.map((secret) => secret.name).join(', ');
      throw new ApiError('not_found', { message: `There is no secret of that name. Known: ${known}.` });
    }
    return declared;
  }

  /** A stored value overrides the environment, even if it cannot be decrypted. */
  function inForce(declared: DeclaredSecret, row: SecretRow | null): ResolvedSecret {
    if (row !== null) {
      const opened = openValue(keys, declared.name, row);
      return 'value' in opened
        ? { origin: 'database', value: opened.value }
        : { origin: 'none', value: null, problem: opened.problem };
    }
    const value = environment[declared.env_var];
    return value === null ? { origin: 'none', value } : { origin: 'environment', value };
  }

  function describe(declared: DeclaredSecret, row: SecretRow | null): SecretStatus {
    const { origin, problem } = inForce(declared, row);
    return {
      ...declared,
      configured: row !== null,
      readable: origin === 'database',
      hint: row?.hint ?? '',
      env_set: environment[declared.env_var] !== null,
      origin,
      key_version: row?.key_version ?? 0,
      updated_by: row?.updated_by ?? null,
      updated_at: instantOrNull(row?.updated_at ?? null),
      ...(problem !== undefined && { problem }),
    };
  }

  return {
    async list() {
      const rows = await loadSecrets(database.db);
      const known = keys === null ? [] : [keys.current, ...keys.previous];
      return {
        secrets: DECLARED_SECRETS.map((declared) => describe(declared, rows.get(declared.name) ?? null)),
        master_key_configured: keys !== null,
        key_versions: known.map(({ version }) => version).sort((a, b) => a - b),
      };
    },

    async set(actor, name, value) {
      const declared = requireDeclared(name);
      if (keys === null) {
        throw new ApiError('conflict', {
          message: 'Secrets cannot be stored without a master key. Set SERVICE_SECRET_KEY and restart.',
        });
      }
      const row: SecretRow = {
        name: declared.name,
        ...sealValue(keys.current, declared.name, value, random.bytes(NONCE_BYTES)),
        hint: hintOf(value),
        updated_by: actor.userId,
        updated_at: clock.nowMs(),
      };
      await putSecret(database.db, row);
      await activity.record(actor.userId, 'instance.secret.set', declared.name);
      return { secret: describe(declared, row), master_key_configured: true };
    },

    async clear(actor, name) {
      const declared = requireDeclared(name);
      if (!(await deleteSecret(database.db, declared.name))) return;
      await activity.record(actor.userId, 'instance.secret.cleared', declared.name);
    },

    async resolve(name) {
      const declared = requireDeclared(name);
      return inForce(declared, await findSecret(database.db, declared.name));
    },
  };
}
