import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { addHost, createTestApp, describeDatabases, type TestApp, UNKNOWN_ID } from '../testing/index.ts';

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
  let app: TestApp;
  let folder = '';
  let prometheus: ChildProcess;
  let url = '';
  const ask = async <Data extends z.ZodType>(path: string, data: Data): Promise<z.output<Data> | string> => {
    const answer = reply.parse(await (await fetch(`${url}${path}`)).json());
    return answer.status === 'success' ? data.parse(answer.data) : (answer.error ?? '');
  };
  const query = async (expr: string) => {
    const found = await ask(
      `/api/v1/query?query=${encodeURIComponent(expr)}`,
      z.object({ result: z.array(z.unknown()) }),
    );
    return typeof found === 'string' ? found : found.result;
  };

  beforeAll(async () => {
    app = await createTestApp(await fresh(), { env: { SERVICE_METRICS_ADDR: '127.0.0.1:0' } });
    const page = new URL((await app.plane.listen()).metrics ?? '');
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
    await addHost(app, 'gpu-01');
    const use = async () => {
      await app.call(app.people.alice, 'POST', '/v1/sessions', { body: { app_id: UNKNOWN_ID } });
      await app.call(app.people.alice, 'GET', '/v1/apps');
      return query('rate(footlight_launches_total[1m]) > 0').catch(() => []);
    };
    await vi.waitFor(async () => expect((await use()).length).toBeGreaterThan(0), {
      timeout: 60_000,
      interval: 200,
    });
  });
  afterAll(async () => {
    if (prometheus.exitCode === null) {
      prometheus.kill('SIGKILL');
      await once(prometheus, 'exit');
    }
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('takes the rules and finds every metric that they name', async () => {
    const judged = rules.parse(await ask('/api/v1/rules', rules)).groups.flatMap((group) => group.rules);
    expect(judged.filter(({ health }) => health === 'err')).toEqual([]);
    const names = await ask('/api/v1/label/__name__/values', z.array(z.string()));
    const asked = [...judged.map((rule) => rule.query), ...queries.map(([, expr]) => expr)].flatMap(
      (expr) => expr.match(/\b(?:footlight|nodejs|process)_\w+/g) ?? [],
    );
    // These metrics have no series until the first event of their kind.
    const later =
      /_session_(launch|life)_seconds|_bus_request_seconds|_database_connections|_job_runs|_leases_held/;
    const missing = [...new Set(asked)].filter((name) => !later.test(name) && !names.includes(name));
    expect(missing).toEqual([]);
  });

  test('keeps the labels of every metric, because none has a name that the scrape uses itself', async () => {
    const at = app.clock.nowMs();
    await app.plane.platform.database.db
      .insertInto('job_runs')
      .values({
        ...{ id: UNKNOWN_ID, job_id: 'artwork.prune_orphans', host_id: null, state: 'pending' },
        ...{ trigger: 'manual', actor_user_id: null, attempt: 1, scheduled_for: at, claimed_at: null },
        ...{ started_at: null, finished_at: null, params: '{}', summary: '{}', error: null, created_at: at },
        ...{ claimed_boot: null, fence: null },
      })
      .execute();
    await expect.poll(() => query('footlight_job_runs')).not.toEqual([]);
    expect(await query('{__name__=~"footlight_.+",exported_job!=""}')).toEqual([]);
    expect(await query('{__name__=~"footlight_.+",exported_instance!=""}')).toEqual([]);
  });

  test.each(queries)('answers the panel "%s"', async (title, expr) => {
    const result = await query(expr);
    expect(result, expr).toBeInstanceOf(Array);
    const needsMore = /launch until|running|slots in use|steps of|ended|commands|background/i;
    const needsPostgres = dialect === 'sqlite' && title === 'Connections to Postgres';
    // Poll, because on a busy machine a scrape may exceed its 200 ms, and then there is no series until the next
    // scrape.
    if (!needsMore.test(title) && !needsPostgres)
      await expect.poll(() => query(expr), { message: expr }).not.toEqual([]);
  });
});
