import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Random } from '@footlight/platform';
import { ENROLL_ID_PATTERN } from '@footlight/protocol/agent';
import { z } from 'zod';

const identitySchema = z.object({
  node_name: z.string(),
  host_id: z.string(),
  node_secret: z.string().min(1),
});

/** Identity of this host. node_secret is its only credential and is never logged. */
export type Identity = z.infer<typeof identitySchema>;

/**
 * Identity files in the state directory: node.json with the identity, and enroll-id. Until node.json is written,
 * enroll-id binds a one-use enrollment token to this machine.
 */
export class IdentityStore {
  readonly #dir: string;
  readonly #random: Random;

  constructor(stateDir: string, random: Random) {
    this.#dir = stateDir;
    this.#random = random;
  }

  /**
   * @returns null: this host is not enrolled
   * @throws when node.json is unreadable or damaged; a new enrollment would overwrite the identity
   */
  async load(): Promise<Identity | null> {
    const text = await readIfThere(join(this.#dir, 'node.json'));
    if (text === null) return null;
    const parsed = identitySchema.safeParse(jsonOrNull(text));
    if (!parsed.success) {
      throw new Error(
        `${join(this.#dir, 'node.json')} is damaged: restore it, or remove it and enroll again`,
      );
    }
    return parsed.data;
  }

  /** Writes node.json atomically, then deletes enroll-id. */
  async save(identity: Identity): Promise<void> {
    await writeDurably(join(this.#dir, 'node.json'), `${JSON.stringify(identity)}\n`);
    await rm(join(this.#dir, 'enroll-id'), { force: true });
  }

  /** 32 random bytes in hex; the value stays the same until node.json is written. */
  async enrollId(): Promise<string> {
    const path = join(this.#dir, 'enroll-id');
    const stored = (await readIfThere(path))?.trim() ?? '';
    if (ENROLL_ID_PATTERN.test(stored)) return stored;
    const made = this.#random.bytes(32).toString('hex');
    await writeDurably(path, `${made}\n`);
    return made;
  }
}

/**
 * Replaces a file (mode 0600) atomically and durably: writes a temporary file, syncs and renames it, and syncs the
 * directory.
 */
export async function writeDurably(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
