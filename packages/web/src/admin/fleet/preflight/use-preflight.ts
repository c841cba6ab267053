import type { PlannedPath } from '@footlight/protocol/rest';
import type { NetworkPath } from '@footlight/protocol/telemetry';
import { useEffect, useRef, useState } from 'react';
import { call } from '../../../api/client.ts';
import { clock } from '../../../clock.ts';
import type { PathState } from './preflight-model.ts';
import { testPeer } from './preflight-peer.ts';

export interface TestedPath {
  path: NetworkPath;
  planned: PlannedPath;
  state: PathState;
}

export interface Preflight {
  /** null: not tested yet. */
  paths: readonly TestedPath[] | null;
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
  const [paths, setPaths] = useState<readonly TestedPath[] | null>(null);
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => () => ending.current?.abort(), []);

  async function run(signal: AbortSignal): Promise<void> {
    const { paths: planned } = await call('preflight.start', { params: { id: hostId }, signal });
    setPaths(
      planned.map((one) => ({
        path: one.path,
        planned: one,
        state: { kind: one.missing === null ? 'waiting' : 'missing' },
      })),
    );
    const show = (path: NetworkPath, state: PathState) =>
      setPaths((shown) => shown?.map((one) => (one.path === path ? { ...one, state } : one)) ?? null);
    for (const one of planned) {
      if (one.missing !== null) continue;
      show(one.path, { kind: 'testing' });
      const exchange = (offer: string) =>
        call('preflight.offer', { params: { id: hostId }, body: { path: one.path, offer }, signal });
      const state = await testPeer({ planned: one, clock, signal, exchange }).catch(
        (cause: unknown): PathState => ({ kind: 'failed', error: cause }),
      );
      if (signal.aborted) return;
      show(one.path, state);
    }
  }

  const start = () => {
    ending.current?.abort();
    const controller = new AbortController();
    ending.current = controller;
    setRunning(true);
    setError(null);
    setPaths(null);
    void run(controller.signal)
      .catch((cause: unknown) => {
        if (!controller.signal.aborted) setError(cause);
      })
      .finally(() => {
        if (!controller.signal.aborted) setRunning(false);
      });
  };
  return { paths, running, error, start };
}
