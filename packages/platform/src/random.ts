import { randomBytes, randomUUID } from 'node:crypto';

/** Randomness, injected so that tests can repeat a run. */
export interface Random {
  /** Cryptographically strong bytes; tokens come from here. */
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
