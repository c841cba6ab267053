import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  type KubernetesObject,
  type RealPodman,
  startChartRenderer,
  startRealPodman,
  wrongFields,
} from '../src/containers/index.ts';
import { FakeAgent } from '../src/fake-agent/index.ts';
import { ApiClient } from '../src/stack/api-client.ts';
import { eventually, freePort, PATIENCE_MS, repositoryRoot } from '../src/stack/program.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const ADMIN = { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase' };
const BASE = 'localhost/debian:12-slim';
const TOKEN_FILE = '/var/lib/service-control/setup-token';
const run = promisify(execFile);

/**
 * Images with the names and the interfaces of the official ones, because no registry can be reached: the variables,
 * paths and arguments that compose.replicas.yaml uses.
 */
const SERVICES = `
FROM ${BASE} AS debian
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql nats-server haproxy
FROM debian AS postgres
COPY postgres.sh /
ENTRYPOINT ["sh", "/postgres.sh"]
FROM debian AS nats
ENTRYPOINT ["/usr/sbin/nats-server"]
FROM debian AS haproxy
USER haproxy
ENTRYPOINT ["/usr/sbin/haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
`;
const POSTGRES = `
data=/var/lib/postgresql/data bin=/usr/lib/postgresql/15/bin
as="setpriv --reuid=postgres --regid=postgres --clear-groups"
chown postgres $data
if [ ! -e $data/PG_VERSION ]; then
  $as $bin/initdb -D $data --username=$POSTGRES_USER --pwfile=$POSTGRES_PASSWORD_FILE --auth=scram-sha-256 --encoding=UTF8
  echo host all all all scram-sha-256 >>$data/pg_hba.conf
  echo "create database $POSTGRES_USER;" | $as $bin/postgres --single -D $data postgres
fi
exec $as $bin/postgres -D $data -c listen_addresses='*'
`;

describe.runIf(LONG && process.getuid?.() === 0)('the image of the control plane', () => {
  let folder: string;
  let podman: RealPodman;
  const agents: FakeAgent[] = [];
  const clients: ApiClient[] = [];

  /** Runs a program with the images of the tests. */
  const withImages = async (program: string, words: string[], cwd = folder) => {
    const home = process.env.HOME === undefined ? {} : { HOME: process.env.HOME };
    const env = { ...process.env, ...podman.env, ...home };
    const { stdout } = await run(program, words, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  };
  const setupToken = (container: string) =>
    eventually(`the setup token of ${container}`, PATIENCE_MS, () =>
      podman.podman('exec', container, 'cat', TOKEN_FILE),
    );

  const release = async (container: string): Promise<string> => {
    const file = '/usr/lib/footlight-control/control-plane/package.json';
    return JSON.parse(await podman.podman('exec', container, 'cat', file)).version;
  };

  async function stopOrderly(container: string, seconds: number): Promise<void> {
    await podman.podman('stop', '--time', String(seconds), container);
    // 137 would mean that it did not end in time.
    expect(await podman.podman('inspect', '--format', '{{.State.ExitCode}}', container)).toBe('0');
  }

  /** Claims the instance and adds a host. */
  async function claim(url: string, token: string) {
    const api = new ApiClient(url);
    clients.push(api);
    await eventually('the address answers', PATIENCE_MS, async () =>
      (await api.call('GET', '/health/ready')).status === 200 ? true : null,
    );
    const headers = { 'x-service-setup-token': token };
    const { access_token } = await api.ask('POST', '/v1/setup/claim', { body: ADMIN, headers });
    const enrollment = await api.ask('POST', '/v1/admin/enrollment-tokens', {
      token: access_token,
      body: {},
    });
    const agent = new FakeAgent({ url, nodeName: 'drill-host', credential: { token: enrollment.token } });
    agents.push(agent);
    await agent.connect();
    return {
      api,
      /** Signs in, and connects the host again. */
      async stillWorks(): Promise<void> {
        await eventually('the address answers', PATIENCE_MS, async () =>
          (await api.call('GET', '/health/ready')).status === 200 ? true : null,
        );
        const { email, password } = ADMIN;
        const login = await api.ask('POST', '/v1/auth/login', { body: { email, password } });
        if (!agent.isOpen) await agent.connect();
        await eventually('the host is online', PATIENCE_MS, async () => {
          const { items } = await api.ask('GET', '/v1/hosts', { token: login.access_token });
          return items.find((host: { id: string; status: string }) => host.status === 'online');
        });
      },
    };
  }

  /** A copy of deploy/container with other ports of the machine. */
  async function composeFolder(file: string, ports: Record<string, number>) {
    const copy = mkdtempSync(path.join(folder, 'compose-'));
    cpSync(path.join(repositoryRoot, 'deploy/container'), copy, { recursive: true });
    const edit = (change: (text: string) => string) =>
      writeFileSync(path.join(copy, file), change(readFileSync(path.join(copy, file), 'utf8')));
    for (const [former, port] of Object.entries(ports))
      edit((text) => text.replace(`"${former}:`, `"127.0.0.1:${port}:`));
    const compose = (...words: string[]) =>
      withImages('podman-compose', ['-p', path.basename(copy), '-f', file, ...words], copy);
    return { copy, compose, edit, name: (service: string) => `${path.basename(copy)}_${service}_1` };
  }

  beforeAll(async () => {
    // Layers need a disk, which /tmp may not be.
    folder = mkdtempSync('/var/tmp/footlight-image-');
    podman = await startRealPodman();
    const root = path.join(folder, 'debian');
    await run('debootstrap', ['--variant=minbase', 'bookworm', root], { maxBuffer: 64 * 1024 * 1024 });
    await run('tar', ['-C', root, '-cf', `${root}.tar`, '.']);
    await podman.podman('import', `${root}.tar`, BASE);
    const script = path.join(repositoryRoot, 'scripts/package');
    const packages = path.join(folder, 'packages');
    for (const version of [[], ['--version', '0.2.0']])
      await withImages(script, ['--image', '--base', BASE, ...version, packages]);
    const services = path.join(folder, 'services');
    mkdirSync(services);
    writeFileSync(path.join(services, 'Containerfile'), SERVICES);
    writeFileSync(path.join(services, 'postgres.sh'), POSTGRES);
    for (const [target, tag] of [
      ['postgres', '15'],
      ['nats', '2.10'],
      ['haproxy', '2.8'],
    ] as const)
      await podman.podman(
        ...['build', '--target', target, '--tag', `docker.io/library/${target}:${tag}`, services],
      );
  }, 1_200_000);

  afterAll(async () => {
    for (const agent of agents) await agent.drop();
    for (const client of clients) await client.close();
    await podman?.podman('pod', 'rm', '--all', '--force');
    await podman?.podman('rm', '--all', '--force', '--time', '5');
    await podman?.podman('network', 'prune', '--force');
    await podman?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  test('compose.yaml: a restart and a newer image keep the data, and the health check works', async () => {
    const [https, http] = [await freePort(), await freePort()];
    const { compose, edit, name } = await composeFolder('compose.yaml', { 8443: https, 8080: http });
    await compose('up', '-d');
    const control = name('control');
    const instance = await claim(`https://127.0.0.1:${https}`, await setupToken(control));
    await podman.podman('healthcheck', 'run', control);
    expect(await podman.podman('exec', control, 'id', '--user')).toBe('10001');
    await podman.podman('restart', '--time', '20', control);
    await instance.stillWorks();
    expect(await release(control)).toBe('0.1.0');
    await stopOrderly(control, 20);
    await compose('down');
    edit((text) => text.replace('footlight-control:0.1.0', 'footlight-control:0.2.0'));
    await compose('up', '-d');
    await instance.stillWorks();
    expect(await release(control)).toBe('0.2.0');
    await compose('down');
  }, 300_000);

  test('compose.yaml: a backup is restored into an empty volume', async () => {
    const [https, http] = [await freePort(), await freePort()];
    const { copy, compose, name } = await composeFolder('compose.yaml', { 8443: https, 8080: http });
    await compose('up', '-d');
    const control = name('control');
    const instance = await claim(`https://127.0.0.1:${https}`, await setupToken(control));
    const backup = '/var/lib/service-control/footlight.backup';
    await podman.podman('exec', control, 'footlight', 'backup', backup);
    await podman.podman('cp', `${control}:${backup}`, path.join(copy, 'kept'));
    await compose('down', '--volumes');
    await compose('up', '-d');
    await setupToken(control);
    await podman.podman('cp', path.join(copy, 'kept'), `${control}:${backup}`);
    await compose('down');
    await podman.podman(
      ...['run', '--rm', '--volume', `${path.basename(copy)}_control:/var/lib/service-control`],
      ...['--entrypoint', 'footlight', 'localhost/footlight-control:0.1.0', 'restore', backup],
    );
    await compose('up', '-d');
    await instance.stillWorks();
    await compose('down');
  }, 300_000);

  test('compose.replicas.yaml: each replica is replaced by a newer image, while the other one answers', async () => {
    const [https, http] = [await freePort(), await freePort()];
    const file = 'compose.replicas.yaml';
    const { copy, compose, edit, name } = await composeFolder(file, { 443: https, 80: http });
    await run(path.join(copy, 'make-secrets'));
    const pair = ['-keyout', path.join(copy, 'key.pem'), '-out', path.join(copy, 'cert.pem')];
    await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=drill', ...pair]);
    const pem = ['cert.pem', 'key.pem'].map((part) => readFileSync(path.join(copy, part), 'utf8'));
    writeFileSync(path.join(copy, 'tls/footlight.pem'), pem.join(''));
    await compose('up', '-d');
    const instance = await claim(`https://127.0.0.1:${https}`, await setupToken(name('control-1')));
    edit((text) => text.replace('footlight-control:0.1.0', 'footlight-control:0.2.0'));
    for (const replica of ['control-1', 'control-2']) {
      await stopOrderly(name(replica), 30);
      await podman.podman('rm', name(replica));
      await instance.stillWorks();
      await compose('up', '-d');
      await eventually(`${replica} is ready`, PATIENCE_MS, () =>
        podman.podman('healthcheck', 'run', name(replica)),
      );
    }
    await instance.stillWorks();
    for (const replica of ['control-1', 'control-2']) expect(await release(name(replica))).toBe('0.2.0');
    await compose('down');
  }, 600_000);

  describe('the Helm chart', () => {
    let chart: Awaited<ReturnType<typeof startChartRenderer>>;
    const BEHIND_INGRESS = {
      tls: { enabled: false },
      ingress: { enabled: true, host: 'footlight.example.org', tlsSecret: 'web', className: 'nginx' },
      trustedProxies: '10.0.0.0/16',
      publicUrl: 'https://footlight.example.org',
    };
    const REPLICAS = {
      replicas: 3,
      database: 'postgres',
      existingSecret: 'footlight',
      persistence: { accessMode: 'ReadWriteMany' },
    };

    beforeAll(async () => {
      chart = await startChartRenderer();
    }, 300_000);

    afterAll(() => chart?.close());

    test.each([
      ['alone', {}, ['Deployment', 'PersistentVolumeClaim', 'Service', 'ServiceAccount']],
      [
        'with its own certificate and many options',
        {
          tls: { existingSecret: 'web' },
          existingSecret: 'footlight',
          metrics: { enabled: true, podMonitor: true },
          service: { type: 'LoadBalancer', annotations: { a: 'b' } },
          env: { SERVICE_TURN_URLS: 'turn:turn.example.org:3478' },
          imagePullSecrets: [{ name: 'registry' }],
          podAnnotations: { a: 'b' },
          nodeSelector: { a: 'b' },
          tolerations: [{ key: 'a', operator: 'Exists' }],
          affinity: { nodeAffinity: {} },
          extraVolumes: [{ name: 'bus', configMap: { name: 'bus' } }],
          extraVolumeMounts: [{ name: 'bus', mountPath: '/etc/bus' }],
        },
        ['Deployment', 'PersistentVolumeClaim', 'PodMonitor', 'Service', 'ServiceAccount'],
      ],
      [
        'with replicas behind an ingress',
        { ...REPLICAS, ...BEHIND_INGRESS },
        [
          'Deployment',
          'Ingress',
          'PersistentVolumeClaim',
          'PodDisruptionBudget',
          'Service',
          'ServiceAccount',
        ],
      ],
      [
        'with replicas without a volume',
        { ...REPLICAS, ...BEHIND_INGRESS, persistence: { enabled: false } },
        ['Deployment', 'Ingress', 'PodDisruptionBudget', 'Service', 'ServiceAccount'],
      ],
    ])('%s makes objects that fit the types of Kubernetes', async (_what, values, kinds) => {
      const objects = Object.values(await chart.render(values));
      expect(objects.map(({ kind }) => kind).sort()).toEqual(kinds);
      expect(await wrongFields(objects)).toBe('');
    });

    test('an unknown field would not fit', async () => {
      const { 'service.yaml': service } = await chart.render({});
      expect(await wrongFields([{ ...service!, spec: { port: 1 } }])).toContain(
        "does not exist in type 'ServiceSpec'",
      );
    });

    test.each([
      [{ replica: 2 }, 'Additional property replica is not allowed'],
      [{ env: { SERVICE_DRAIN_SECS: 5 } }, 'env.SERVICE_DRAIN_SECS: Invalid type. Expected: string'],
      [{ replicas: 2 }, 'replicas: a SQLite file belongs to one control plane'],
      [{ persistence: { enabled: false } }, 'persistence.enabled: without a volume'],
      [{ database: 'postgres' }, 'existingSecret: name a Secret with DATABASE_URL'],
      [{ ...REPLICAS, persistence: {} }, 'persistence.accessMode: several replicas'],
      [REPLICAS, 'tls.existingSecret: several replicas need the same certificate'],
      [{ ingress: { enabled: true, host: 'a' } }, 'tls.enabled: the ingress terminates TLS'],
      [{ tls: { enabled: false }, ingress: { enabled: true } }, 'ingress.host: expected'],
      [{ metrics: { enabled: true } }, 'existingSecret: name a Secret with SERVICE_METRICS_TOKEN'],
    ])('%j is refused with the reason', async (values, why) => {
      await expect(chart.render(values)).rejects.toThrow(why);
    });

    test('podman runs its Deployment, and a newer image keeps the data of its volume', async () => {
      const [https, http] = [await freePort(), await freePort()];
      const file = path.join(folder, 'objects.yaml');
      const play = async (tag: string, kinds: string[]) => {
        const objects = Object.values(await chart.render({ image: { tag } }));
        const deployment = objects.find(({ kind }) => kind === 'Deployment');
        for (const port of deployment?.spec.template.spec.containers[0].ports ?? [])
          port.hostPort = port.name === 'https' ? https : http;
        const chosen = objects.filter(({ kind }: KubernetesObject) => kinds.includes(kind));
        writeFileSync(file, chosen.map((object) => stringify(object)).join('---\n'));
        await podman.podman('play', 'kube', file);
      };
      await play('0.1.0', ['PersistentVolumeClaim', 'ServiceAccount', 'Deployment']);
      const control = 'drill-footlight-pod-0-control';
      const instance = await claim(`https://127.0.0.1:${https}`, await setupToken(control));
      await podman.podman('play', 'kube', '--down', file);
      await play('0.2.0', ['Deployment']);
      await instance.stillWorks();
      expect(await release(control)).toBe('0.2.0');
      await podman.podman('play', 'kube', '--down', file);
    }, 300_000);
  });
});
