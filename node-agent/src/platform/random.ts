import { randomBytes, randomUUID } from 'node:crypto';

/** Source of randomness, injected so that tests can repeat a run. */
export interface Random {
  bytes(count: number): Buffer;
  uuid(): string;
  /** Uniform in [0, 1). */
  number(): number;
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  uuid: () => randomUUID(),
  number: () => Math.random(),
};
