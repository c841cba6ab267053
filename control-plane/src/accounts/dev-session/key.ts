import { sameDigest, sha256Hex } from '../../platform/digest.ts';
import type { Platform } from '../../platform/platform.ts';
import { writeSecretFile } from '../setup/secret-file.ts';
import { mintHexSecret } from '../tokens/tokens.ts';

/**
 * The key that opens developers' sessions. It is new with each start and exists in a file of the machine alone:
 * a process that can read that file is trusted with accounts of any role.
 */
export interface DevKey {
  /** Mints and writes the key. A file that cannot be written is logged; then nobody has the key. */
  start(): Promise<void>;
  /** Compares in constant time; false also while there is no key. */
  matches(presented: string): boolean;
}

export function createDevKey(platform: Pick<Platform, 'config' | 'logger' | 'random'>): DevKey {
  const { config, logger, random } = platform;
  const file = config.accounts.devAgentKeyFile;
  // Until the key is written this stands in for it, so that every comparison does the same work.
  let digest = sha256Hex(mintHexSecret(random));

  return {
    async start() {
      const key = mintHexSecret(random);
      logger.warn(
        {
          variable: 'SERVICE_DEV_AGENT_AUTH',
          path: file,
          hint: 'SERVICE_DEV_AGENT_AUTH is set: a reader of the key file can sign in with any role.',
        },
        'accounts.dev_agent_auth_on',
      );
      try {
        await writeSecretFile(file, key);
        digest = sha256Hex(key);
      } catch (error) {
        logger.error({ path: file, err: error }, 'accounts.dev_agent_key_unwritten');
      }
    },

    matches: (presented) => sameDigest(sha256Hex(presented), digest),
  };
}
