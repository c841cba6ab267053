import { randomBytes, randomUUID } from 'node:crypto';

/** Randomness, injected so that tests are repeatable. */
export interface Random {
  /** Cryptographically strong bytes, for tokens. */
  bytes(count: number): Buffer;
  /** A v4 uuid, lowercase canonical. */
  uuid(): string;
  /** Uniform in [0, 1); for jitter only. */
  number(): number;
}

/** The operating system's generator. */
export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  uuid: () => randomUUID(),
  number: () => Math.random(),
};
