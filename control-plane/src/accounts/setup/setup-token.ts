import { rm } from 'node:fs/promises';
import { SECOND_MS, type Timer } from '@footlight/platform';
import type { Tx } from '../../platform/database/index.ts';
import { NO_DIGEST, sameDigest, sha256Hex } from '../../platform/digest.ts';
import type { Fence } from '../../platform/leader.ts';
import type { Platform } from '../../platform/platform.ts';
import { loadSetupTokenDigest, storeSetupTokenDigest } from '../../settings/index.ts';
import { adminExists } from '../store.ts';
import { mintHexSecret } from '../tokens/tokens.ts';
import { writeSecretFile } from './secret-file.ts';

const TASK = 'accounts.setup_token';
const CHECK_EVERY_MS = 5 * SECOND_MS;

/**
 * The token that lets one person claim an instance without administrators.
 *
 * Only the lease holder creates a token. It writes the token to a file and stores its digest in the database, so any
 * replica can check a claim. A new digest replaces the old one and so invalidates tokens of earlier starts and former
 * lease holders. The file is deleted when an administrator exists. The digest stays until the next start, so that a
 * repeated claim with the right token is answered with "already complete".
 */
export interface SetupToken {
  /**
   * Creates the token's file and then watches for an administrator. If one already exists, deletes the file of an
   * earlier start.
   * @throws when the file cannot be written
   */
  start(): Promise<void>;
  /** Compares the presented token in constant time; false while no token is valid. */
  matches(presented: string): Promise<boolean>;
  /** Deletes the file if this process wrote it. Never throws. */
  discardFile(): Promise<void>;
  /** Stops watching. The file stays until the next start replaces it. */
  close(): void;
}

export function createSetupToken(platform: Platform): SetupToken {
  const { clock, config, database, leader, logger, random } = platform;
  const file = config.accounts.setupTokenFile;
  /** Digest of the token minted by this process; null: no token was minted, or its file is deleted. */
  let minted: string | null = null;
  let watch: Timer | null = null;
  let failure: unknown = null;

  async function mintUnlessMine(fence: Fence): Promise<void> {
    const token = mintHexSecret(random);
    const digest = sha256Hex(token);
    const stored = await database.transaction(async (tx: Tx) => {
      await fence.check(tx);
      if (await adminExists(tx)) return false;
      if (minted !== null && (await loadSetupTokenDigest(tx)) === minted) return false;
      await storeSetupTokenDigest(tx, digest);
      return true;
    });
    if (!stored) return;
    await writeSecretFile(file, token);
    minted = digest;
    logger.warn({ path: file, hint: 'Nobody has claimed this instance yet.' }, 'accounts.setup_token_ready');
  }

  async function discardFile(): Promise<void> {
    if (minted === null) return;
    minted = null;
    await removeFile();
  }

  async function removeFile(): Promise<void> {
    try {
      await rm(file, { force: true });
    } catch (error) {
      logger.warn({ path: file, err: error }, 'accounts.setup_token_file_kept');
    }
  }

  async function discardOnceClaimed(): Promise<void> {
    if (minted === null) return;
    if (await adminExists(database.db)) await discardFile();
  }

  return {
    async start() {
      if (await adminExists(database.db)) {
        await removeFile();
        await storeSetupTokenDigest(database.db, null);
        return;
      }
      leader.register({
        id: TASK,
        everyMs: CHECK_EVERY_MS,
        run: async (fence) => {
          failure = null;
          await mintUnlessMine(fence).catch((error: unknown) => {
            failure = error;
            throw error;
          });
        },
      });
      await leader.runNow(TASK);
      if (failure !== null) throw failure;
      // Another replica may have handled the claim, but only this machine can delete the file.
      watch = clock.setInterval(() => {
        discardOnceClaimed().catch((error: unknown) => {
          logger.debug({ err: error }, 'accounts.setup_watch_failed');
        });
      }, CHECK_EVERY_MS);
    },

    async matches(presented) {
      const digest = await loadSetupTokenDigest(database.db);
      return sameDigest(sha256Hex(presented), digest ?? NO_DIGEST) && digest !== null;
    },

    discardFile,

    close() {
      watch?.cancel();
      watch = null;
    },
  };
}
