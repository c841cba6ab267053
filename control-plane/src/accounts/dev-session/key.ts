import { sameDigest, sha256Hex } from '../../platform/digest.ts';
import type { Platform } from '../../platform/platform.ts';
import { writeSecretFile } from '../setup/secret-file.ts';
import { mintHexSecret } from '../tokens/tokens.ts';

/**
 * The key for developers' sessions. Each start of the service creates a new key and writes it to a file. A process that
 * can read the file can open accounts of any role.
 */
export interface DevKey {
  /** Creates the key and writes its file. If the file cannot be written, the error is logged and no key exists. */
  start(): Promise<void>;
  /** Compares the presented key in constant time; false while no key exists. */
  matches(presented: string): boolean;
}

export function createDevKey(platform: Pick<Platform, 'config' | 'logger' | 'random'>): DevKey {
  const { config, logger, random } = platform;
  const file = config.accounts.devAgentKeyFile;
  // Placeholder until the key is written, so that every comparison does the same work.
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
