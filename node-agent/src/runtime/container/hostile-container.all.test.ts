import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { noRealPodman } from '@footlight/test-harness/containers';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type ContainedSessions, startContainedSessions } from '../../testing/contained-sessions.ts';
import type { Assignment, HostedSessions } from '../../testing/hosted-sessions.ts';
import { NO_TRACES, processesOf } from '../../testing/traces.ts';

const why = noRealPodman();
const SECRET = 'a-secret-of-the-agent';
const NEIGHBOUR = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, pack_sockaddr_un(qq(PATH))) ? qq(connected\\n) : qq(no\\n)'`;

describe.skipIf(why !== null)(`a hostile app in a container${why === null ? '' : ` (${why})`}`, () => {
  let host: ContainedSessions;
  let sessions: HostedSessions;
  let server: Server;
  let victim: Assignment;
  let display: number;
  /** A directory of the host that apps may write to. */
  let shared: string;

  beforeAll(async () => {
    shared = await mkdtemp('/srv/footlight-shared-');
    await mkdir(join(shared, 'game'));
    await chmod(shared, 0o777);
    host = await startContainedSessions([71_520, 71_529], {
      SERVICE_APP_MEMORY_MB: '256',
      SERVICE_APP_PIDS: '60',
      SERVICE_MOUNT_ROOTS: `${shared}:rw`,
    });
    ({ sessions } = host);
    await writeFile(join(host.stateDir, 'secret'), SECRET, { mode: 0o644 });
    server = createServer((socket) => socket.end('reached')).listen(0, '0.0.0.0');
    victim = host.contained(['xterm', '-T', 'victim']);
    await sessions.launch(victim);
    await sessions.reached(victim, 'app presented');
    ({ number: display } = await sessions.displayOf(victim));
  }, 120_000);

  // The session under attack must survive every attack.
  afterEach(async () => {
    expect(processesOf(victim.session_id).length).toBeGreaterThan(0);
    await vi.waitFor(async () => expect(await host.podman.containers()).toHaveLength(1), 20_000);
  });

  afterAll(async () => {
    await sessions.stop(victim);
    await vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), 20_000);
    server.close();
    await host?.close();
    await rm(shared, { recursive: true, force: true });
  });

  async function attack(script: string, more: Partial<Assignment['app']> = {}) {
    const body = host.contained(['/bin/sh', '-c', `${script}\nexit 7`], more);
    await sessions.launch(body);
    const { error, app_log_tail = '' } = await sessions.ended(body);
    return { error, said: app_log_tail };
  }

  describe('in one container', () => {
    const targets = ['127.0.0.1', '10.55.0.2', '169.254.169.254', '1.1.1.1'];
    /** Output of each script, by the script's name. */
    const said: Record<string, string> = {};
    /** Abstract sockets and file sockets of the session under attack. */
    let sockets: string[];

    beforeAll(async () => {
      const { port } = server.address() as { port: number };
      const run = execFileSync('sh', ['-c', `ls -d ${host.stateDir}/sessions/*/scratch/run`], {
        encoding: 'utf8',
      });
      sockets = [`/tmp/.X11-unix/X${display}`, `\\0/tmp/.X11-unix/X${display}`, `${run.trim()}/pulse.sock`];
      const scripts: Record<string, string> = {
        // The output is filtered, because the log tail of a session contains only few lines.
        status: `perl -ne 'print if /^(Cap|NoNewPrivs|Seccomp:|Uid|Max core)/' /proc/self/status /proc/self/limits`,
        host: `cat ${join(host.stateDir, 'secret')}; ls ${host.stateDir}; ls /srv /home; cat /proc/1/cmdline; ls /proc | perl -ne 'print "pid $_" if /^\\d+$/'; ls /dev; cat /run/podman/podman.sock ${host.podman.folder}/podman.sock`,
        own: `${NEIGHBOUR.replace('PATH', '/tmp/.X11-unix/X@{[substr($ENV{DISPLAY},1)]}')}; ls /tmp/.X11-unix`,
        others: sockets.map((path) => NEIGHBOUR.replace('PATH', path)).join('\n'),
        network: targets
          .map(
            (to) =>
              `perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); alarm 2; print connect(S, pack_sockaddr_in(${port}, inet_aton(q(${to})))) ? qq(${to} connected\\n) : qq(${to} no\\n)'`,
          )
          .join('\n'),
        // Runs last, because it kills all processes that it can.
        root: 'mount -t tmpfs x /tmp; touch /etc/x /usr/x /new; perl -e \'$| = 1; unlink(q(/etc/passwd)) or print "passwd stays\\n"; chroot(q(/tmp)) or print "no chroot\\n"; setpgrp; kill(9, -1); print "alive\\n"\'',
      };
      const names = Object.keys(scripts);
      const text = Object.entries(scripts).map(([name, script]) => `echo '=== ${name}'\n${script}`);
      const output = (await attack(`exec 2>&1\n${text.join('\n')}`, { network: 'none' })).said;
      const [, ...parts] = output.split(/^=== (\w+)\n/m);
      for (let at = 0; at < parts.length; at += 2) said[parts[at] ?? ''] = (parts[at + 1] ?? '').trimEnd();
      expect(Object.keys(said)).toEqual(names);
    });

    test('has no capability, can gain none, and leaves no core files to the host', () => {
      const rows = Object.fromEntries(
        (said.status ?? '').split('\n').map((row) => row.split(/:\s+/) as [string, string]),
      );
      const none = '0000000000000000';
      expect(rows).toMatchObject({
        CapEff: none,
        CapPrm: none,
        CapBnd: none,
        CapInh: none,
        CapAmb: none,
        NoNewPrivs: '1',
        Seccomp: '2',
      });
      expect(rows.Uid).toMatch(/^7152\d\t7152\d\t7152\d\t7152\d$/);
      expect(said.status).toMatch(/^Max core file size +1 +1 /m);
    });

    test('cannot do anything that needs root', () => {
      expect(said.root).toMatch(/mount: .*(permission denied|must be superuser|failed)/i);
      for (const path of ['/etc/x', '/usr/x', '/new'])
        expect(said.root).toMatch(new RegExp(`touch: cannot touch '${path}': Read-only file system`));
      for (const line of ['passwd stays', 'no chroot']) expect(said.root).toContain(line);
    });

    test('sees no file, process or device of the host and of its agent', () => {
      expect(said.host).not.toContain(SECRET);
      expect(said.host).not.toMatch(/node\.json|sessions$/m);
      expect(said.host?.match(/^pid /gm)?.length).toBeLessThan(8);
      expect(said.host).not.toMatch(/^(vda|sda|mem|kmsg|uinput|kvm|net)$/m);
      expect(said.host).toMatch(/podman\.sock: No such file or directory/);
    });

    test('reaches no socket of another session: display, sound, abstract names', () => {
      expect(said.own).toMatch(/^connected\nX\d+$/);
      expect(said.others).toBe(sockets.map(() => 'no').join('\n'));
    });

    test('without a network it reaches no address, not even the host', () => {
      expect(said.network).toBe(targets.map((to) => `${to} no`).join('\n'));
    });
  });

  test('can fork only up to its limit', async () => {
    const { said } = await attack(
      `perl -e 'for (1..500) { my $p = fork; if (!defined $p) { print qq(stopped at $_\\n); exit } if ($p == 0) { sleep 30; exit } } print qq(all\\n)'`,
    );
    const count = Number(/^stopped at (\d+)$/.exec(said)?.[1]);
    expect(count).toBeGreaterThan(20);
    expect(count).toBeLessThan(60);
  });

  test('can use memory only up to its limit, and only it is killed', async () => {
    const { said, error } = await attack(
      `exec perl -e 'push @a, q(x) x 1048576 for 1..1024; print qq(all\\n)'`,
    );
    expect(said).not.toContain('all');
    expect(error).toMatch(/^the app exited with status 137 before it drew anything/);
  });

  test('can fill its own /tmp but no disk', async () => {
    const { said, error } = await attack(
      `for d in /var /opt /usr/local /etc /home /var/lib; do touch $d/x 2>/dev/null && echo "wrote $d"; done; exec perl -e 'open F, q(>), q(/tmp/x); print F q(x) x 1048576 for 1..1024; print qq(all\\n)'`,
    );
    expect(said).toBe('');
    expect(error).toContain('status 137');
  });

  test('floods its output, and only the newest lines are kept', async () => {
    const { said } = await attack(
      `perl -e 'print qq(line $_ ), q(x) x 900, qq(\\n) for 1..20000'; echo last`,
    );
    expect(said.length).toBeLessThanOrEqual(65_536);
    expect(said.endsWith('\nlast')).toBe(true);
  });

  test('floods its output, and the engine stores no file of it', async () => {
    const script = `xterm & perl -e 'print q(x) x 1048576 for 1..4'; exec sleep 600`;
    const body = host.contained(['/bin/sh', '-c', script]);
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    const isDone = () => processesOf(body.session_id).some(({ command }) => command === 'sleep 600');
    await vi.waitFor(() => expect(isDone()).toBe(true), 20_000);
    const large = execFileSync('find', [host.podman.folder, '-name', '*.log', '-size', '+64k'], {
      encoding: 'utf8',
    });
    expect(large).toBe('');
    await sessions.stop(body);
  });

  test('swaps a directory for a link between the check of a mount and the start of the container', async () => {
    const swap = `chdir '/shared'; while (1) { rename 'game', 'aside'; symlink '/etc', 'game'; unlink 'game'; rename 'aside', 'game' }`;
    const attacker = host.contained(['/bin/sh', '-c', `xterm & exec perl -e "${swap}"`], {
      mounts: [`${shared}:/shared`],
    });
    await sessions.launch(attacker);
    await sessions.reached(attacker, 'app presented');
    for (let launch = 0; launch < 5; launch += 1) {
      const body = host.contained(['/bin/sh', '-c', 'ls /data; exit 7'], {
        mounts: [`${join(shared, 'game')}:/data`],
      });
      // Refused, even if the entry is harmless at this moment, because an app can replace it.
      expect(await host.control.command(body)).toMatchObject({ ok: false, code: 'policy' });
    }
    await sessions.stop(attacker);
  });

  test('has the agent’s name and labels, whatever its variables contain', async () => {
    const body = host.contained(['xterm'], {
      env: {
        FOOTLIGHT_SESSION: victim.session_id,
        'HOME=/x;': 'y',
        LD_PRELOAD: '/nonexistent.so',
        PATH: '/usr/bin:/bin',
        'A\nB': '$(touch /tmp/pwned)',
      },
      label: '--privileged"; rm -rf /',
    });
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    const app = processesOf(body.session_id).find(({ command }) => command.startsWith('xterm'));
    const env = readFileSync(`/proc/${app?.pid}/environ`, 'utf8').split('\0');
    expect(env.filter((entry) => /^(HOME|FOOTLIGHT_SESSION)=/.test(entry)).sort()).toEqual([
      `FOOTLIGHT_SESSION=${body.session_id}`,
      'HOME=/home/service',
    ]);
    expect(await host.podman.containers()).toContain(`footlight-${body.session_id}`);
    await sessions.stop(body);
  });
});
