import type { PreflightRung } from '@footlight/protocol/preflight';
import type { PlannedRung } from '@footlight/protocol/rest';
import { useEffect, useRef, useState } from 'react';
import { call } from '../../../api/client.ts';
import { clock } from '../../../clock.ts';
import type { RungState } from './preflight-model.ts';
import { testPeer } from './preflight-peer.ts';

export interface TestedRung {
  rung: PreflightRung;
  planned: PlannedRung;
  state: RungState;
}

export interface Preflight {
  /** null: not tested yet. */
  rungs: readonly TestedRung[] | null;
  running: boolean;
  /** Why the test could not start; null: no error. */
  error: unknown;
  start(): void;
}

/**
 * The connection test between this browser and a host. The paths are tested one after the other, so that they do not
 * slow each other down. The test ends when the page is left.
 */
export function usePreflight(hostId: string): Preflight {
  const [rungs, setRungs] = useState<readonly TestedRung[] | null>(null);
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => () => ending.current?.abort(), []);

  async function run(signal: AbortSignal): Promise<void> {
    const { rungs: planned } = await call('preflight.start', { params: { id: hostId }, signal });
    setRungs(
      planned.map((one) => ({
        rung: one.rung,
        planned: one,
        state: { kind: one.missing === null ? 'waiting' : 'missing' },
      })),
    );
    const show = (rung: PreflightRung, state: RungState) =>
      setRungs((shown) => shown?.map((one) => (one.rung === rung ? { ...one, state } : one)) ?? null);
    for (const one of planned) {
      if (one.missing !== null) continue;
      show(one.rung, { kind: 'testing' });
      const exchange = (offer: string) =>
        call('preflight.offer', { params: { id: hostId }, body: { rung: one.rung, offer }, signal });
      const state = await testPeer({ planned: one, clock, signal, exchange }).catch(
        (cause: unknown): RungState => ({ kind: 'failed', error: cause }),
      );
      if (signal.aborted) return;
      show(one.rung, state);
    }
  }

  const start = () => {
    ending.current?.abort();
    const controller = new AbortController();
    ending.current = controller;
    setRunning(true);
    setError(null);
    setRungs(null);
    void run(controller.signal)
      .catch((cause: unknown) => {
        if (!controller.signal.aborted) setError(cause);
      })
      .finally(() => {
        if (!controller.signal.aborted) setRunning(false);
      });
  };
  return { rungs, running, error, start };
}
