import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { addHost, describeDatabases, PATIENTLY, type TestApp, UNKNOWN_ID } from '../testing/index.ts';

const deployed = (file: string) => fileURLToPath(new URL(`../../../deploy/${file}`, import.meta.url));
const dashboard = z
  .object({
    panels: z.array(
      z.object({ id: z.number(), title: z.string(), targets: z.array(z.object({ expr: z.string() })) }),
    ),
  })
  .parse(JSON.parse(readFileSync(deployed('grafana/footlight.json'), 'utf8')));
const queries = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [
    title,
    expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*').replaceAll('[15m]', '[1m]'),
  ]),
) as [string, string][];

const reply = z.object({ status: z.string(), error: z.string().optional(), data: z.unknown() });
const vector = z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) });
const rules = z.object({
  groups: z.array(
    z.object({ rules: z.array(z.object({ name: z.string(), health: z.string(), query: z.string() })) }),
  ),
});

describe('the alerts', () => {
  test.each([
    ['check', 'rules', '--lint-fatal', deployed('prometheus/alerts.yml')],
    ['test', 'rules', deployed('prometheus/alerts.test.yml')],
  ])('are nothing that promtool %s %s would complain about', (...words) => {
    const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' });
    expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
  });
});

describeDatabases('a Prometheus that reads a live control plane', ({ fresh, dialect }) => {
  let world: SessionsWorld;
  let appId = '';
  let deadHostId = '';
  let folder = '';
  let prometheus: ChildProcess;
  let url = '';
  const ask = async <Data extends z.ZodType>(path: string, data: Data): Promise<z.output<Data> | string> => {
    const answer = reply.parse(await (await fetch(`${url}${path}`)).json());
    return answer.status === 'success' ? data.parse(answer.data) : (answer.error ?? '');
  };
  /** @returns the value of each series @throws when Prometheus refuses the expression */
  const query = async (expr: string): Promise<string[]> => {
    const found = await ask(`/api/v1/query?query=${encodeURIComponent(expr)}`, vector);
    if (typeof found === 'string') throw new Error(found);
    return found.result.map(({ value }) => value[1]);
  };
  /** Causes an event of each kind that the metrics count. */
  async function use(): Promise<void> {
    const { admin, alice } = world.people;
    await world.call(alice, 'POST', '/v1/sessions', { body: { app_id: UNKNOWN_ID } });
    await world.call(admin, 'GET', `/v1/admin/hosts/${deadHostId}/load`);
    const { id } = await world.running(alice, appId);
    const seen = { ts_unix_ms: world.clock.nowMs(), type: 'client.first_frame', payload: { flat: false } };
    await world.call(alice, 'POST', `/v1/sessions/${id}/trace/events`, {
      body: { client: 'browser', events: [seen] },
    });
    await world.call(alice, 'DELETE', `/v1/sessions/${id}`);
    await world.until(id, 'stopped');
  }
  /**
   * Causes events until an answer passes: a rate needs two scrapes, and a busy machine may miss some of them. The clock
   * stands still, so no rate limit recovers; one round a second stays below all of them.
   */
  const eventuallyPasses = (check: () => Promise<void>) =>
    vi.waitFor(
      () =>
        check().catch(async (error: unknown) => {
          await use();
          throw error;
        }),
      { ...PATIENTLY, interval: 1_000 },
    );

  beforeAll(async () => {
    // The page shows the numbers of one process.
    world = await openSessionsWorld(
      await fresh(),
      undefined,
      { SERVICE_METRICS_ADDR: '127.0.0.1:0' },
      { replicas: 1 },
    );
    await world.host('gpu-01');
    // Requests to this host find no responder.
    deadHostId = await addHost(world, 'gpu-02');
    appId = await world.app();
    // The clock stands still, so the lease stays held and the job stays pending.
    await world.plane.platform.leader.runNow('sessions.slots');
    await addPendingJob(world);
    const page = new URL(world.metrics ?? '');
    folder = mkdtempSync(join(tmpdir(), 'footlight-prometheus-'));
    const job = `job_name: footlight, metrics_path: ${page.pathname}, static_configs: [{targets: ["${page.host}"]}]`;
    writeFileSync(
      join(folder, 'prometheus.yml'),
      `global: {scrape_interval: 200ms, evaluation_interval: 200ms}
rule_files: ["${deployed('prometheus/alerts.yml')}"]
scrape_configs: [{${job}}]
`,
    );
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const words = [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ];
    prometheus = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'prometheus', ...words], { stdio: 'ignore' });
    const ready = async () => expect((await fetch(`${url}/-/ready`)).status).toBe(200);
    await vi.waitFor(ready, { ...PATIENTLY, interval: 200 });
  });
  afterAll(async () => {
    if (prometheus.exitCode === null) {
      prometheus.kill('SIGKILL');
      await once(prometheus, 'exit');
    }
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('takes the rules and finds every metric that they and the dashboard name', async () => {
    let judged: z.output<typeof rules>['groups'][number]['rules'] = [];
    await eventuallyPasses(async () => {
      judged = rules.parse(await ask('/api/v1/rules', rules)).groups.flatMap((group) => group.rules);
      expect(judged.filter(({ health }) => health !== 'ok')).toEqual([]);
    });
    const asked = [...judged.map((rule) => rule.query), ...queries.map(([, expr]) => expr)].flatMap(
      (expr) => expr.match(/\b(?:footlight|nodejs|process)_\w+/g) ?? [],
    );
    // SQLite uses no connections.
    const wanted = [...new Set(asked)].filter(
      (name) => !(dialect === 'sqlite' && name === 'footlight_database_connections'),
    );
    await eventuallyPasses(async () => {
      const names = await ask('/api/v1/label/__name__/values', z.array(z.string()));
      expect(wanted.filter((name) => !names.includes(name))).toEqual([]);
    });
  });

  test('keeps the labels of every metric, because none has a name that the scrape uses itself', async () => {
    await expect.poll(() => query('footlight_job_runs')).toEqual(['1']);
    expect(await query('{__name__=~"footlight_.+",exported_job!=""}')).toEqual([]);
    expect(await query('{__name__=~"footlight_.+",exported_instance!=""}')).toEqual([]);
  });

  test.each(queries)('answers the panel "%s" with numbers', async (title, expr) => {
    // SQLite uses no connections.
    if (dialect === 'sqlite' && title === 'Connections to Postgres') expect(await query(expr)).toEqual([]);
    // A quantile of a histogram without events is NaN.
    else
      await eventuallyPasses(async () =>
        expect(await query(expr), expr).toContainEqual(expect.stringMatching(/\d/)),
      );
  });
});

/** A run that waits for the job's next time. */
async function addPendingJob({ clock, plane }: TestApp): Promise<void> {
  const at = clock.nowMs();
  await plane.platform.database.db
    .insertInto('job_runs')
    .values({
      ...{ id: UNKNOWN_ID, job_id: 'artwork.prune_orphans', host_id: null, state: 'pending' },
      ...{ trigger: 'manual', actor_user_id: null, attempt: 1, scheduled_for: at, claimed_at: null },
      ...{ started_at: null, finished_at: null, params: '{}', summary: '{}', error: null, created_at: at },
      ...{ claimed_boot: null, fence: null },
    })
    .execute();
}
