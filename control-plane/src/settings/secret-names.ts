import type { Config } from '../platform/config/config.ts';

/** A known secret; others cannot be stored. */
export interface DeclaredSecret {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  /** Variable that is used while no value is stored. */
  readonly env_var: keyof Config['secrets']['environment'];
  readonly docs_url: string;
}

/** Sorted by name. */
export const DECLARED_SECRETS = [
  {
    name: 'artwork.steamgriddb.api_key',
    label: 'SteamGridDB API key',
    description: 'Lets the server look up and download cover art from SteamGridDB.',
    env_var: 'SERVICE_STEAMGRIDDB_API_KEY',
    docs_url: 'https://www.steamgriddb.com/profile/preferences/api',
  },
] as const satisfies readonly DeclaredSecret[];

export type SecretName = (typeof DECLARED_SECRETS)[number]['name'];

export function findDeclared(name: string): (typeof DECLARED_SECRETS)[number] | undefined {
  return DECLARED_SECRETS.find((declared) => declared.name === name);
}
