import { randomBytes, randomUUID } from 'node:crypto';

/** Source of random values. It is passed in, so that tests are repeatable. */
export interface Random {
  /** Cryptographically strong bytes, for tokens. */
  bytes(count: number): Buffer;
  /** A uuid of version 4 in canonical lower-case form. */
  uuid(): string;
  /** A number that is uniform in [0, 1). For jitter only, because it is not cryptographically strong. */
  number(): number;
}

/** The random source of the programs: bytes and ids from the operating system's generator, numbers from Math.random. */
export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  uuid: () => randomUUID(),
  number: () => Math.random(),
};
