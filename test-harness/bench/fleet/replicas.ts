/**
 * replicas: launches and signed-in pages with two and three control planes on one Postgres and one NATS, compared with
 * one control plane without NATS. The figure is the control planes' CPU time for each operation. The load generator,
 * Postgres and the control planes share two cores, so answers per second would not show how the product scales to more
 * machines.
 */
import { eventually } from '../../src/stack/program.ts';
import { alternate, judge, printVerdict, round2 } from '../rounds.ts';
import { ask, type ReplicaSet, startReplicaSet } from './replica-set.ts';

/** Warm-up requests to each replica, because code that has run only a few times is slow. */
const LAUNCHES = 64;
const PAGES = 1_000;
/** Concurrent requests to each replica: simultaneous requests share reads of the database. */
const AT_ONCE = 8;
const STOP_LIMIT_MS = 30_000;

interface Figure {
  cpuMsEach: number;
  perSecond: number;
}

/** @returns 0: there is no mark */
export async function benchReplicas(rounds: number): Promise<number> {
  const one = await startReplicaSet(1);
  try {
    for (const count of [2, 3]) {
      const several = await startReplicaSet(count);
      try {
        await compare(rounds, count, one, several);
      } finally {
        await several.stop();
      }
    }
    return 0;
  } finally {
    await one.stop();
  }
}

async function compare(rounds: number, count: number, one: ReplicaSet, several: ReplicaSet): Promise<void> {
  const names = [`replicas ${count}, launch`, `replicas ${count}, page`];
  const rates = new Map<ReplicaSet, Figure[][]>([
    [one, []],
    [several, []],
  ]);
  const measure = async (set: ReplicaSet): Promise<number[]> => {
    const figures = [await launches(set), await pages(set)];
    rates.get(set)?.push(figures);
    return figures.map(({ cpuMsEach }) => cpuMsEach);
  };
  const kept = await alternate(
    rounds,
    { reference: () => measure(one), subject: () => measure(several) },
    names,
  );
  for (const [n, name] of names.entries()) {
    const perSecond = (set: ReplicaSet) =>
      (rates.get(set) ?? []).slice(1).map((figures) => round2(figures[n]?.perSecond ?? Number.NaN));
    printVerdict({
      ...judge(name, kept[n] ?? [], () => true, 'ms of processor time each'),
      verdict: 'not judged',
      perSecond: perSecond(several),
      perSecondOfOne: perSecond(one),
    });
  }
}

/**
 * Sends requests to all replicas evenly, a few at the same time.
 * @param each requests for each replica (count)
 */
async function timed(set: ReplicaSet, each: number, one: (n: number) => Promise<void>): Promise<Figure> {
  const count = each * set.urls.length;
  const cpuBefore = set.cpuMs();
  const startedMs = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE * set.urls.length }, async () => {
      for (let n = next++; n < count; n = next++) await one(n);
    }),
  );
  const seconds = (performance.now() - startedMs) / 1_000;
  return { cpuMsEach: (set.cpuMs() - cpuBefore) / count, perSecond: count / seconds };
}

const urlOf = ({ urls }: ReplicaSet, n: number): string => urls[n % urls.length] as string;
const tokenOf = ({ tokens }: ReplicaSet, n: number): string => tokens[n % tokens.length] as string;

function pages(set: ReplicaSet): Promise<Figure> {
  return timed(set, PAGES, async (n) => {
    await ask(urlOf(set, n), 'GET', '/v1/apps?limit=50', tokenOf(set, n));
  });
}

/** CPU time of launches, from the request until the host has started the session. */
async function launches(set: ReplicaSet): Promise<Figure> {
  const stateOf = async (n: number, id: string): Promise<string> => {
    const answer = await ask(urlOf(set, n), 'GET', `/v1/sessions/${id}`, tokenOf(set, n));
    return (answer as { session: { state: string } }).session.state;
  };
  const launched: string[] = [];
  const figure = await timed(set, LAUNCHES, async (n) => {
    const answer = await ask(urlOf(set, n), 'POST', '/v1/sessions', tokenOf(set, n), { app_id: set.appId });
    launched[n] = (answer as { session: { id: string } }).session.id;
  });
  for (const [n, id] of launched.entries()) {
    const reaches = (state: string) =>
      eventually(
        `a session is ${state}`,
        STOP_LIMIT_MS,
        async () => (await stateOf(n, id)) === state || null,
      );
    await reaches('running');
    await ask(urlOf(set, n), 'DELETE', `/v1/sessions/${id}`, tokenOf(set, n));
    await reaches('stopped');
  }
  return figure;
}
