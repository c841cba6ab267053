import { AsyncLocalStorage } from 'node:async_hooks';
import { vi } from 'vitest';
import type { ControlPlane } from '../../app.ts';

/**
 * Runs an effect immediately before the first transaction that `act` begins, after the reads of `act`. Other
 * transactions, such as those of host reports, are not delayed.
 * @param planes the control planes that may serve `act`
 */
export async function beforeTransactionOf<T>(
  planes: readonly ControlPlane[],
  act: () => Promise<T>,
  happening: () => Promise<unknown>,
): Promise<T> {
  const acting = new AsyncLocalStorage<{ begun: boolean }>();
  const spies = planes.map(({ platform: { database } }) => {
    const begin = database.transaction.bind(database);
    return vi.spyOn(database, 'transaction').mockImplementation(async (work) => {
      const own = acting.getStore();
      if (own?.begun === false) {
        own.begun = true;
        await happening();
      }
      return begin(work);
    });
  });
  const own = { begun: false };
  try {
    const answer = await acting.run(own, act);
    if (!own.begun) throw new Error('no transaction was begun');
    return answer;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
