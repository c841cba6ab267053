import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BuiltReplicas, RECOVERED } from '../testing/built-replicas.ts';
import { checkOutEarlierRelease } from '../testing/earlier-release.ts';
import { SteadyRequests } from '../testing/steady-requests.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const SIZE = LONG ? { hosts: 20, sessionsPerHost: 5 } : { hosts: 16, sessionsPerHost: 1 };
const REQUESTS_PER_SECOND = LONG ? 50 : 20;
/** Number of people who launch sessions. Even if most hosts move to another replica at once, two free ones remain. */
const PEOPLE = 2;

let fleet: BuiltReplicas;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earlier-release-'));
  // The long form upgrades from the release that lacks the newest migration. The short form, which needs no history of
  // git, starts the same release again.
  if (LONG) checkOutEarlierRelease(folder);
  fleet = await BuiltReplicas.start({ ...SIZE, behind: 'HAProxy', ...(LONG && { firstRelease: folder }) });
}, 600_000);
afterAll(async () => {
  await fleet?.end();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** Adds to every table a column that no running replica knows, as the first replica of a new release may do. */
async function widenSchema(): Promise<void> {
  const tables = await fleet.beside.query(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  for (const { name } of tables.rows)
    await fleet.beside.query(`alter table "${name}" add column of_next_release text not null default 'new'`);
}

/** Replaces the replicas one after another while people use them. @param people number of people who launch sessions */
async function replaceEach(people: number): Promise<void> {
  const requests = new SteadyRequests(fleet, { perSecond: REQUESTS_PER_SECOND });
  const timesUp = (n: number) => fleet.balancerLog.split(`footlight/control-${n + 1} is UP`).length - 1;
  try {
    for (let n = 0; n < 3; n += 1) {
      const before = timesUp(n);
      const launchesEnd = requests.launch(people);
      expect(await fleet.at(n).process.end('SIGTERM')).toBe(0);
      await fleet.startAgain(n);
      await expect.poll(() => timesUp(n), RECOVERED).toBe(before + 1);
      await launchesEnd();
      await fleet.expectRecovered();
    }
  } finally {
    await requests.end();
  }
  expect([...requests.failed, ...fleet.failed]).toEqual([]);
  expect(requests.answered.GET).toBeGreaterThan(3 * REQUESTS_PER_SECOND);
  expect(requests.answered.DELETE ?? 0).toBeGreaterThanOrEqual(3 * people);
  await fleet.expectWork();
}

test('the replicas work while the first one of a new release changes the schema', async () => {
  for (let n = 0; n < 3; n += 1) await fleet.expectWorkOnEachHost(n, n + 1);
  await widenSchema();
  for (let n = 0; n < 3; n += 1) await fleet.expectWorkOnEachHost(n, n + 1);
}, 120_000);

// Nobody launches here, because a launch fails if a replica of the earlier release stops between its two commands.
test.runIf(LONG)(
  'three replicas of the earlier release are replaced: no request fails, and every session goes on',
  () => replaceEach(0),
  300_000,
);

test(
  'three replicas are replaced one after another: no request fails, and every session goes on',
  () => replaceEach(PEOPLE),
  300_000,
);
