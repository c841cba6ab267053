import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONTROL_SERVICE, controlUnit } from '../../control-plane/src/install/unit.ts';
import { AGENT_SERVICE, agentUnit } from '../../node-agent/src/install/unit.ts';
import { NotifySocket } from '../src/stack/notify-socket.ts';
import { freePort, type Program, repositoryRoot, startProgram } from '../src/stack/program.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync('/var/tmp/footlight-services-');
  chmodSync(directory, 0o711);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Finding {
  name: string | null;
  json_field: string;
  set: boolean | null;
  exposure: string | null;
}

/** Writes a unit and checks it with systemd's own tools. */
function judge(name: string, text: string, mostExposure: number) {
  const file = path.join(directory, name);
  writeFileSync(file, text);
  const verify = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  const security = (...words: string[]) =>
    spawnSync(
      'systemd-analyze',
      [
        'security',
        '--offline=true',
        '--no-pager',
        `--threshold=${Math.round(mostExposure * 10)}`,
        ...words,
        file,
      ],
      { encoding: 'utf8' },
    );
  const report = security();
  const findings: Finding[] = JSON.parse(security('--json=short').stdout);
  return { complaints: `${verify.stdout}${verify.stderr}`, verified: verify.status, report, findings };
}

describe.each([
  {
    name: AGENT_SERVICE,
    // 0.3 of the exposure comes from allowed namespaces: net for the apps' networks; ipc and uts, because `pasta` uses
    // them to isolate itself.
    most: 4.7,
    text: () =>
      agentUnit({
        node: process.execPath,
        program: path.join(repositoryRoot, 'node-agent/dist/main.js'),
        environmentFile: '/etc/footlight/agent.env',
        stateDir: '/var/lib/service-agent',
        homePaths: [],
        lowPort: false,
      }),
  },
  {
    name: CONTROL_SERVICE,
    most: 2.0,
    text: () =>
      controlUnit({
        node: process.execPath,
        program: path.join(repositoryRoot, 'control-plane/dist/main.js'),
        environmentFile: '/etc/footlight/control.env',
        writtenBy: 'install',
        lowPort: false,
      }),
  },
])('the unit $name', ({ name, most, text }) => {
  let verdict: ReturnType<typeof judge>;
  beforeAll(() => {
    verdict = judge(name, text(), most);
  });

  test('is accepted by systemd without a warning', () => {
    expect(verdict.complaints).toBe('');
    expect(verdict.verified).toBe(0);
  });

  test(`leaves no more open than ${most}`, () => {
    process.stdout.write(`${verdict.report.stdout}\n`);
    expect(verdict.report.stdout).toContain('Overall exposure level');
    expect(verdict.report.status).toBe(0);
  });

  test('explains each protection that is left off', () => {
    const lines = text().split('\n');
    const comments = lines.filter((line) => line.startsWith('#')).join('\n');
    const openSettings = lines.slice(lines.indexOf('# Exceptions, with reasons.'));
    const isExplained = (directive: string) =>
      comments.includes(directive) || openSettings.some((line) => line.startsWith(`${directive}=`));
    const unexplained = verdict.findings
      .filter(({ exposure, set }) => set === false && Number(exposure) > 0)
      .map(({ name: door }) => /^\w+/.exec(door ?? '')?.[0] ?? '')
      .filter((directive) => !isExplained(directive));
    expect(unexplained).toEqual([]);
  });
});

describe('a program whose event loop hangs', () => {
  const pulse = (status: string) => `
    const { connectServiceManager, ServicePulse, systemClock: clock, watchdogMs } = await import('${repositoryRoot}/packages/platform/src/index.ts');
    const notify = await connectServiceManager(process.env);
    new ServicePulse({ notify, clock, watchdogMs: watchdogMs(process.env, process.pid)${status} });`;
  const hanging = { 'the agent': pulse(", status: () => 'alive'"), 'the control plane': pulse('') };
  const WATCHDOG_MS = 1_500;

  test.each(Object.entries(hanging))(
    '%s: feeds its watchdog while its loop turns, and not while it hangs',
    async (who, code) => {
      // An abstract address, as systemd may pass one.
      const manager = await NotifySocket.open(`@footlight-test-${process.pid}-${who.length}`);
      const child: ChildProcess = spawn(
        process.execPath,
        // Threads and child processes of the program keep running while its event loop hangs. They must not send
        // heartbeats.
        [
          '--import',
          'tsx',
          '--input-type=module',
          '-e',
          `${code}\nprocess.stdin.once('data', () => { for (;;); });`,
        ],
        {
          cwd: repositoryRoot,
          env: {
            ...process.env,
            NOTIFY_SOCKET: manager.address,
            WATCHDOG_USEC: String(WATCHDOG_MS * 1000),
          },
          stdio: ['pipe', 'inherit', 'inherit'],
        },
      );
      try {
        await manager.said('WATCHDOG=1', 3);
        child.stdin?.write('hang\n');
        // Simulates systemd, which waits for the next heartbeat until the watchdog's time limit, and then ends the
        // service.
        let fed = -1;
        let deadlines = 0;
        // A heartbeat may have been sent just before the event loop stopped.
        while (deadlines < 3 && fed !== manager.count('WATCHDOG=1')) {
          fed = manager.count('WATCHDOG=1');
          deadlines += 1;
          await new Promise((resolve) => setTimeout(resolve, WATCHDOG_MS));
        }
        expect(deadlines).toBeLessThan(3);
        expect(child.exitCode).toBeNull();
      } finally {
        child.kill('SIGKILL');
        await manager.close();
      }
    },
  );

  test('another process with its environment cannot feed the watchdog, which belongs to the named process', async () => {
    const { watchdogMs } = await import('@footlight/platform');
    expect(watchdogMs({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '1' }, 2)).toBeNull();
    expect(watchdogMs({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '2' }, 2)).toBe(30_000);
    expect(watchdogMs({}, 2)).toBeNull();
  });
});

describe('started by a service manager', () => {
  let manager: NotifySocket;
  let program: Program | null = null;

  const start = async (script: string, words: string[], env: Record<string, string>) => {
    manager = await NotifySocket.open(path.join(directory, `${script}.notify`));
    program = startProgram(
      script,
      words,
      { ...env, NOTIFY_SOCKET: manager.address, WATCHDOG_USEC: '1500000' },
      path.join(directory, `${script}.log`),
    );
    return program;
  };

  test('the control plane reports that it listens, feeds its watchdog, and reports that it stops', async () => {
    const port = await freePort();
    const control = await start('control-plane', [], {
      CONTROL_PORT: String(port),
      SERVICE_TLS: 'off',
      SERVICE_DATA_DIR: path.join(directory, 'control'),
      SERVICE_SETUP_TOKEN_PATH: path.join(directory, 'control', 'setup-token'),
    });
    try {
      await manager.said('READY=1', 1, 60_000);
      expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
      await manager.said('WATCHDOG=1', 2);
      await control.kill('SIGTERM');
      await manager.said('STOPPING=1');
    } finally {
      await control.kill('SIGKILL').catch(() => undefined);
      await manager.close();
    }
  });

  test('the agent is ready before a control plane answers, reports what it waits for, and reports its stop', async () => {
    const [port, health] = [await freePort(), await freePort()];
    mkdirSync(path.join(directory, 'agent'), { mode: 0o711 });
    const agent = await start('node-agent', ['run'], {
      SERVICE_CONTROL_URL: `http://127.0.0.1:${port}`,
      SERVICE_ENROLLMENT_TOKEN: 'a-token-that-nobody-asks-for',
      SERVICE_AGENT_STATE_DIR: path.join(directory, 'agent'),
      SERVICE_AGENT_HEALTH_ADDR: `127.0.0.1:${health}`,
      SERVICE_NODE_NAME: 'lonely',
    });
    try {
      await manager.said('READY=1', 1, 90_000);
      await manager.said(`STATUS=waiting for 127.0.0.1:${port}, live sessions: 0`);
      await manager.said('WATCHDOG=1', 2);
      await agent.kill('SIGTERM');
      await manager.said('STOPPING=1');
    } finally {
      await agent.kill('SIGKILL').catch(() => undefined);
      await manager.close();
    }
  });
});

describe('install', () => {
  test('writes environment, unit and command, keeps earlier values, and refuses values that prevent a start', async () => {
    const { install } = await import('../../node-agent/src/install/install.ts');
    const at = (file: string) => path.join(directory, 'etc', file);
    const places = {
      environmentFile: at('agent.env'),
      unitFile: at(AGENT_SERVICE),
      command: at('footlight-agent'),
    };
    const said: string[] = [];
    const call = (env: Record<string, string>) => install(env, (line) => said.push(line), places);
    expect(
      await call({
        SERVICE_CONTROL_URL: 'https://control.example:8443',
        SERVICE_NODE_NAME: 'host-a',
        HOME: '/x',
      }),
    ).toBe(0);
    expect(await call({ SERVICE_PROCESS_RUNTIME: '1', SERVICE_NODE_NAME: '' })).toBe(0);
    expect(readFileSync(places.environmentFile, 'utf8')).toBe(
      "SERVICE_CONTROL_URL='https://control.example:8443'\nSERVICE_PROCESS_RUNTIME='1'\n",
    );
    expect(execFileSync('stat', ['-c', '%a', places.environmentFile], { encoding: 'utf8' }).trim()).toBe(
      '600',
    );
    expect(said.join('\n')).toContain('Process 1 of this machine is not systemd');
    await expect(call({ SERVICE_MEDIA_PORTS: 'many' })).rejects.toThrow('SERVICE_MEDIA_PORTS');
    await expect(call({ SERVICE_CONTROL_CA: "-----BEGIN it's" })).rejects.toThrow('SERVICE_CONTROL_CA');
    expect(readFileSync(places.environmentFile, 'utf8')).not.toContain('many');
    // The command passes the stored environment to the agent; variables that the call of the command sets have
    // priority.
    const version = execFileSync(places.command, ['--help'], { encoding: 'utf8' });
    expect(version).toContain('footlight node agent');
  });

  describe('of the control plane', () => {
    const said: string[] = [];
    const call = async (env: Record<string, string>, closed = false) => {
      const { install } = await import('../../control-plane/src/install/install.ts');
      const at = (file: string) => path.join(directory, closed ? 'closed' : 'open', file);
      mkdirSync(path.dirname(at('x')), { recursive: true });
      chmodSync(path.dirname(at('x')), closed ? 0o700 : 0o755);
      for (const file of ['node', 'main.js']) {
        writeFileSync(at(file), '');
        chmodSync(at(file), 0o755);
      }
      const places = {
        environmentFile: at('control.env'),
        unitFile: at(CONTROL_SERVICE),
        node: at('node'),
        program: at('main.js'),
        command: 'install',
      };
      said.length = 0;
      const code = await install(env, (line) => said.push(line), places);
      const text = existsSync(places.environmentFile) ? readFileSync(places.environmentFile, 'utf8') : null;
      return { code, text, said: said.join('\n') };
    };

    test('writes environment and unit, and keeps earlier values', async () => {
      expect(
        await call({ PUBLIC_BASE_URL: 'https://play.example.org', SERVICE_TLS: 'off', HOME: '/x' }),
      ).toMatchObject({ code: 0 });
      const { code, text, said: words } = await call({ SERVICE_LOG_LEVEL: 'debug', SERVICE_TLS: '' });
      expect(code).toBe(0);
      expect(text).toBe("PUBLIC_BASE_URL='https://play.example.org'\nSERVICE_LOG_LEVEL='debug'\n");
      expect(words).toContain('Process 1 of this machine is not systemd');
    });

    test.each([
      ['a value that it would not start with', { CONTROL_PORT: 'many' }, 'CONTROL_PORT'],
      [
        'data where its user may not write',
        { SERVICE_DATA_DIR: '/srv/footlight' },
        '/srv/footlight lies elsewhere',
      ],
      ['a value that cannot be written', { SERVICE_TLS_HOSTS: "it's" }, 'SERVICE_TLS_HOSTS'],
    ])('refuses %s, and changes nothing', async (_what, env, words) => {
      const before = (await call({})).text;
      const after = await call(env as Record<string, string>);
      expect(after.code).toBe(2);
      expect(after.said).toContain(words);
      expect(after.text).toBe(before);
    });

    test('refuses to run from a folder that its user may not enter', async () => {
      const { code, text, said: words } = await call({}, true);
      expect([code, text]).toEqual([1, null]);
      expect(words).toContain(`may not pass ${directory}/closed`);
    });
  });
});
