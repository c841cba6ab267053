import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { isTerminal } from '@footlight/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isGate } from '../src/gate.ts';
import { ApiClient } from '../src/stack/api-client.ts';
import { OtherMachine } from '../src/stack/other-machine.ts';
import {
  eventually,
  freePort,
  PATIENCE_MS,
  type Program,
  repositoryRoot,
  startProgram,
} from '../src/stack/program.ts';

/**
 * Long form: a fresh Debian, which downloads every program. Short form: this machine's programs, on an overlay that is
 * discarded.
 */
const long = process.env.FOOTLIGHT_LONG === '1';
const LINE_LIMIT_MS = long ? 900_000 : 150_000;
const ADMIN = { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase' };
const HOST = 'new-host';

interface HostRow {
  id: string;
  node_name: string;
  status: string;
  agent_version: string | null;
  capacity: object | null;
}

describe.skipIf(process.getuid?.() !== 0)('the copied line', () => {
  let directory: string;
  let control: Program;
  let machine: OtherMachine;
  let address: string;
  let api: ApiClient;
  let token = '';
  let mirror: http.Server | null = null;

  const call = (method: string, url: string, body?: object, headers = {}) =>
    api.ask(method, url, {
      headers,
      ...(token === '' ? {} : { token }),
      ...(body === undefined ? {} : { body }),
    });
  const hosts = async (): Promise<HostRow[]> => (await call('GET', '/v1/hosts')).items;
  const online = () =>
    eventually('the host is online', PATIENCE_MS, async () => {
      const found = (await hosts()).find(({ status, capacity }) => status === 'online' && capacity !== null);
      return found ?? null;
    });
  const mint = async (): Promise<{ id: string; command: string }> =>
    call('POST', '/v1/admin/enrollment-tokens', { note: 'drill' });

  beforeAll(async () => {
    directory = mkdtempSync('/var/tmp/footlight-add-host-');
    chmodSync(directory, 0o755);
    const root = long ? path.join(directory, 'root') : undefined;
    if (root !== undefined) {
      execFileSync(
        'debootstrap',
        ['--variant=minbase', '--include=ca-certificates,curl,sudo', 'bookworm', root],
        {
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
    }
    machine = new OtherMachine({ hostName: HOST, ...(root === undefined ? {} : { root }) });
    if (root !== undefined) {
      mirror = await serveMirror(machine.gateway);
      const { port } = mirror.address() as { port: number };
      writeFileSync(
        path.join(root, 'etc/apt/apt.conf.d/99-drill'),
        `Acquire::http::Proxy "http://${machine.gateway}:${port}";\n`,
      );
    }
    const [plain, tls] = [await freePort(), await freePort()];
    address = `https://${machine.gateway}:${tls}`;
    api = new ApiClient(address);
    const data = path.join(directory, 'control');
    mkdirSync(data, { mode: 0o700 });
    control = startProgram(
      'control-plane',
      [],
      {
        CONTROL_PORT: String(plain),
        SERVICE_TLS_PORT: String(tls),
        SERVICE_DATA_DIR: data,
        SERVICE_SETUP_TOKEN_PATH: path.join(data, 'setup-token'),
      },
      path.join(directory, 'control-plane.log'),
    );
    await eventually('the control plane answers', PATIENCE_MS, async () =>
      (await call('GET', '/health')) ? true : null,
    );
    const claimed = await call('POST', '/v1/setup/claim', ADMIN, {
      'x-service-setup-token': readFileSync(path.join(data, 'setup-token'), 'utf8').trim(),
    });
    token = claimed.access_token;
  }, 600_000);

  afterAll(async () => {
    await machine?.close();
    await control?.kill('SIGTERM');
    mirror?.closeAllConnections();
    mirror?.close();
    await api?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('a script that was downloaded only partly does nothing', async () => {
    const whole = readFileSync(path.join(repositoryRoot, 'node-agent/dist/install/agent.sh'), 'utf8');
    const lines = whole.split('\n').length;
    const script = await machine.run(
      `curl -fsSk ${address}/install/agent.sh | head -n ${lines - 3} | SERVICE_CONTROL_URL=${address} SERVICE_ENROLLMENT_TOKEN=no-token-at-all-here sh`,
    );
    expect(script.output).toBe('');
    expect((await machine.run('ls /opt/footlight-agent /etc/footlight')).code).not.toBe(0);
  });

  test(
    'an archive that does not match the script is refused, and nothing is installed',
    async () => {
      const other = http.createServer((_request, answer) => answer.end('another archive'));
      await new Promise<void>((resolve) => other.listen(0, machine.gateway, resolve));
      const { port } = other.address() as { port: number };
      try {
        // Packages are installed first and are not part of this test.
        const { code, output } = await machine.run(
          `curl -fsSk ${address}/install/agent.sh | SERVICE_CONTROL_URL=http://${machine.gateway}:${port} SERVICE_ENROLLMENT_TOKEN=no-token-at-all-here sh`,
          LINE_LIMIT_MS,
        );
        expect(output).toContain('is not the agent that this script belongs to');
        expect(code).toBe(1);
        expect((await machine.run('ls /opt/footlight-agent /etc/footlight')).code).not.toBe(0);
      } finally {
        other.closeAllConnections();
        await new Promise((resolve) => other.close(resolve));
      }
    },
    LINE_LIMIT_MS,
  );

  /** Processes on the machine, by a part of their command line; a minimal Debian has no pgrep. */
  const pidsOf = async (part: string): Promise<string[]> => {
    const { output } = await machine.run(
      `for p in /proc/[0-9]*; do printf '%s %s\\n' "\${p#/proc/}" "$(tr '\\0' ' ' 2>/dev/null <$p/cmdline)"; done`,
    );
    return output
      .split('\n')
      .filter((line) => line.includes(part) && line.includes('/opt/footlight-agent/node '))
      .map((line) => line.split(' ')[0] ?? '');
  };

  let first: HostRow;
  let firstToken: string;

  test(
    'the unchanged line installs and starts the agent, and the host is online',
    async () => {
      const { id, command } = await mint();
      expect(command).toMatch(/^curl -fsSk --pinnedpubkey 'sha256\/\//);
      const { code, output } = await machine.run(command, LINE_LIMIT_MS);
      process.stdout.write(`${command}\n${output}\n`);
      expect(output).toContain('Process 1 of this machine is not systemd');
      expect(output).toContain(`This host is connected to ${address}.`);
      expect(code).toBe(0);
      first = await online();
      expect(first.node_name).toBe(HOST);
      firstToken = id;
    },
    LINE_LIMIT_MS + 60_000,
  );

  test('the script ends with what the machine lacks, and the command that fixes it', async () => {
    const { output } = await machine.run('footlight-agent doctor');
    expect(output).toContain('ok   control_plane');
    expect(output).toMatch(/ok {3}programs: /);
    // The machine has no container engine, and process sessions are not allowed. The host therefore cannot run sessions
    // yet, and reports the remedy.
    expect(output).toMatch(
      /to mend container_runtime: (apt-get install podman|systemctl enable --now podman\.socket)/,
    );
    expect(output).toContain('SERVICE_PROCESS_RUNTIME=1');
  });

  test('only root can read the files that it stores', async () => {
    const { output } = await machine.run(
      'stat -c "%a %n" /etc/footlight/agent.env /var/lib/service-agent/node.json',
    );
    expect(output).toBe('600 /etc/footlight/agent.env\n600 /var/lib/service-agent/node.json\n');
  });

  test.skipIf(isGate)(
    'run again it upgrades: the host is the same, and settings stay or change',
    async () => {
      const { command } = await mint();
      const more = command.replace(/ sh$/, ' SERVICE_PROCESS_RUNTIME=1 sh');
      const { code, output } = await machine.run(more, LINE_LIMIT_MS);
      expect(code).toBe(0);
      expect(output).toContain('This host can serve sessions');
      const again = await online();
      expect(again.id).toBe(first.id);
      // A token counts as used after its host has reconnected with the secret that the host received for the token.
      const { items } = await call('GET', '/v1/admin/enrollment-tokens');
      expect(items.find((item: { id: string }) => item.id === firstToken)).toMatchObject({
        host_id: first.id,
      });
      expect(await hosts()).toHaveLength(1);
      expect(await pidsOf('supervise-agent.mjs')).toHaveLength(1);
    },
    LINE_LIMIT_MS + 60_000,
  );

  test.skipIf(isGate)(
    'an app that is launched there draws, and ends',
    async () => {
      const program = ['/opt/footlight-agent/node', '/opt/footlight-agent/node-agent/dist/diagnostics.mjs'];
      const { app } = await call('POST', '/v1/apps', { name: 'Pattern', runtime_spec: { args: program } });
      const { session } = await call('POST', '/v1/sessions', { app_id: app.id });
      const read = async () => (await call('GET', `/v1/sessions/${session.id}`)).session;
      const reached = await eventually('it has drawn, or failed', PATIENCE_MS, async () => {
        const found = await read();
        return found.state_detail === 'app presented' || isTerminal(found.state) ? found : null;
      });
      expect(reached).toMatchObject({ state: 'running', state_detail: 'app presented' });
      await call('DELETE', `/v1/sessions/${session.id}`);
      await eventually('it has ended', PATIENCE_MS, async () =>
        (await read()).state === 'stopped' ? true : null,
      );
    },
    120_000,
  );

  test('an agent that is killed is started again, as the same host', async () => {
    const [former] = await pidsOf('dist/main.js run');
    await machine.run(`kill -KILL ${former}`);
    const next = await eventually('another agent runs', PATIENCE_MS, async () => {
      const [pid] = await pidsOf('dist/main.js run');
      return pid !== undefined && pid !== former ? pid : null;
    });
    expect(next).not.toBe(former);
    expect((await online()).id).toBe(first.id);
  });
});

/** Forwards the machine's package downloads to Debian's mirrors, because the machine has no route to them. */
async function serveMirror(host: string): Promise<http.Server> {
  const server = http.createServer((request, answer) => {
    const upstream = http.get(
      request.url ?? '',
      { headers: { ...request.headers, connection: 'close' } },
      (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(answer);
      },
    );
    upstream.once('error', () => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return server;
}
