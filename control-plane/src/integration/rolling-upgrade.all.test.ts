import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BuiltReplicas, RECOVERED } from '../testing/built-replicas.ts';
import { checkOutEarlierRelease } from '../testing/earlier-release.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const SIZE = LONG ? { hosts: 20, sessionsPerHost: 5 } : { hosts: 4, sessionsPerHost: 2 };
const REQUESTS_PER_SECOND = LONG ? 50 : 20;

let fleet: BuiltReplicas;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earlier-release-'));
  // The long form upgrades from the release that lacks the newest migration. The short form, which needs no history of
  // git, starts the same release again.
  if (LONG) checkOutEarlierRelease(folder);
  fleet = await BuiltReplicas.start({ ...SIZE, behindHaproxy: true, ...(LONG && { firstRelease: folder }) });
}, 600_000);
afterAll(async () => {
  await fleet?.end();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** People who send requests all the time, through HAProxy. */
class Requests {
  answered = 0;
  readonly failed: string[] = [];
  readonly #dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  readonly #open = new Set<Promise<void>>();
  readonly #timer;
  #asked = 0;

  constructor() {
    this.#timer = systemClock.setInterval(() => this.#ask(), 1_000 / REQUESTS_PER_SECOND);
  }

  #ask(): void {
    const session = fleet.sessions[this.#asked % fleet.sessions.length];
    const paths = ['/v1/me', '/v1/apps', `/v1/sessions/${session}`, '/v1/sessions', '/v1/hosts'];
    const path = paths[this.#asked++ % paths.length] as string;
    const answer = fetch(`${fleet.haproxy?.url}${path}`, {
      dispatcher: this.#dispatcher,
      headers: { authorization: `Bearer ${fleet.bearer}` },
    })
      .then(async (response) => {
        const body = await response.text();
        this.answered += 1;
        if (response.status !== 200) this.failed.push(`${path}: ${response.status} ${body.slice(0, 200)}`);
      })
      .catch((error: unknown) => void this.failed.push(`${path}: ${error}`))
      .finally(() => this.#open.delete(answer));
    this.#open.add(answer);
  }

  async end(): Promise<void> {
    this.#timer.cancel();
    await Promise.all(this.#open);
    await this.#dispatcher.close();
  }
}

/** Adds to every table a column that no running replica knows, as the first replica of a new release may do. */
async function widenSchema(): Promise<void> {
  const tables = await fleet.beside.query(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  for (const { name } of tables.rows)
    await fleet.beside.query(`alter table "${name}" add column of_next_release text not null default 'new'`);
}

test('three replicas are replaced one after another: no request fails, and every session goes on', async () => {
  const requests = new Requests();
  const timesUp = (n: number) => fleet.haproxy!.log.split(`footlight/control-${n + 1} is UP`).length - 1;
  try {
    for (let n = 0; n < 3; n += 1) await fleet.expectWorkOnEachHost(n, n + 1);
    await widenSchema();
    for (let n = 0; n < 3; n += 1) await fleet.expectWorkOnEachHost(n, n + 1);
    for (let n = 0; n < 3; n += 1) {
      const before = timesUp(n);
      expect(await fleet.at(n).process.end('SIGTERM')).toBe(0);
      await fleet.startAgain(n);
      await expect.poll(() => timesUp(n), RECOVERED).toBe(before + 1);
      await fleet.expectRecovered();
    }
  } finally {
    await requests.end();
  }
  expect(requests.failed).toEqual([]);
  expect(requests.answered).toBeGreaterThan(3 * REQUESTS_PER_SECOND);
  await fleet.expectWork();
}, 300_000);
