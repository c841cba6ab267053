import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@footlight/platform';
import { noRealPodman } from '@footlight/test-harness/containers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BLOCKED } from '../../testing/blocked-call.ts';
import { type ContainedSessions, startContainedSessions } from '../../testing/contained-sessions.ts';
import type { Assignment, HostedSessions } from '../../testing/hosted-sessions.ts';
import { refuseNumberedGroups } from './container-runtime.ts';
import { ContainerEngine } from './engine/engine.ts';

const why = noRealPodman();
const SOCKETS = 'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0)';
/** Tries to copy a descriptor of the process at the other end of a socket, with SO_PEERPIDFD and pidfd_getfd(2). */
const TAKE = (path: string) =>
  `${SOCKETS}; connect(S, pack_sockaddr_un(${path})) or print qq(no socket $!\\n); my $peer = unpack(q(i), getsockopt(S, 1, 77)); print syscall(438, $peer, 1, 0) < 0 ? qq(refused: $!\\n) : qq(taken\\n);`;
const CALL = (name: string, call: string) =>
  `print syscall(${call}) < 0 ? qq(${name}: $!\\n) : qq(${name} works\\n);`;
/** Fills netlink sockets: for each refused message, the kernel queues an error that contains a copy of the message. */
const FILL_NETLINK = `
my $message = pack(q(LSSLL), 100016, 0x7ff0, 1, 1, 0) . q(x) x 100000;
my $kernel = pack(q(SSLL), 16, 0, 0, 0);
for (1 .. 600) {
  socket(my $socket, 16, 3, 0) or last;
  setsockopt($socket, 1, 8, 1 << 30);
  send($socket, $message, 0, $kernel) for 1 .. 4;
  push @kept, $socket;
}
sleep 10;
print qq(it went on\\n);
`;

describe.skipIf(why !== null)(
  `what a container takes of the kernel${why === null ? '' : ` (${why})`}`,
  () => {
    let host: ContainedSessions;
    let sessions: HostedSessions;

    beforeAll(async () => {
      host = await startContainedSessions([71_540, 71_549], { SERVICE_APP_MEMORY_MB: '256' });
      ({ sessions } = host);
    }, 120_000);

    afterAll(() => host?.close());

    async function said(perl: string, more: Partial<Assignment['app']> = {}) {
      const body = host.contained(['/bin/sh', '-c', `perl -e '${perl}'; exit 7`], more);
      await sessions.launch(body);
      return (await sessions.ended(body)).app_log_tail ?? '';
    }

    test('no descriptor of its display and sound servers, which run outside of the container', async () => {
      const output = await said(
        TAKE('q(/tmp/.X11-unix/X) . substr($ENV{DISPLAY}, 1)') + TAKE('q() . substr($ENV{PULSE_SERVER}, 5)'),
      );
      expect(output).toBe(`refused: ${BLOCKED}\nrefused: ${BLOCKED}`);
    });

    test('no keys, no contexts of old asynchronous I/O, no setuid files, no user namespace', async () => {
      const output = await said(
        [
          CALL('keyctl', '250, 1, 0'),
          CALL('io_setup', '206, 100, my $context = qq(\\0) x 8'),
          'open F, q(>), qq($ENV{HOME}/f); chmod 04755, qq($ENV{HOME}/f) or print qq(setuid: $!\\n); chmod 0755, qq($ENV{HOME}/f) and print qq(mode works\\n);',
          'use Fcntl; sysopen G, qq($ENV{HOME}/g), O_CREAT | O_WRONLY, 04755 or print qq(setuid at birth: $!\\n);',
          CALL('user namespace', '272, 0x10000000'),
        ].join(''),
      );
      expect(output.split('\n')).toEqual([
        `keyctl: ${BLOCKED}`,
        `io_setup: ${BLOCKED}`,
        'setuid: Operation not permitted',
        'mode works',
        'setuid at birth: Operation not permitted',
        'user namespace: Operation not permitted',
      ]);
    });

    test('a user namespace if its app has its own sandbox', async () => {
      const output = await said(CALL('user namespace', '272, 0x10000000') + CALL('keyctl', '250, 1, 0'), {
        systempaths_unconfined: true,
      });
      expect(output).toBe(`user namespace works\nkeyctl: ${BLOCKED}`);
    });

    test('little in sockets, which no control group counts', async () => {
      const output = await said(FILL_NETLINK);
      expect(output).toMatch(/Footlight ended this app: the app leaves \d+ MiB unread in netlink sockets/);
      expect(output).not.toContain('it went on');
    });

    test.skipIf(!existsSync('/sys/fs/cgroup/memory'))('a limit for TCP and UDP socket buffers', async () => {
      const body = host.contained(['xterm']);
      await sessions.launch(body);
      await sessions.reached(body, 'app presented');
      const name = `footlight-${body.session_id}`;
      const pid = await host.podman.podman('inspect', '--format', '{{.State.Pid}}', name);
      const group = /:memory:(.*)/.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];
      const limit = readFileSync(`/sys/fs/cgroup/memory${group}/memory.kmem.tcp.limit_in_bytes`, 'utf8');
      expect(limit.trim()).toBe(String(128 * 1024 * 1024));
      await sessions.stop(body);
    });

    test('no group of the host if its image has a group named like a number', async () => {
      const folder = join(host.podman.folder, 'numbered');
      await mkdir(folder);
      const name = `${host.registry.name}/apps/numbered:1`;
      const engine = await ContainerEngine.at(
        { kind: 'socket', path: host.podman.url.slice('unix://'.length) },
        systemClock,
      );
      const made = async (...lines: string[]) => {
        await writeFile(join(folder, 'Containerfile'), [`FROM ${host.image}`, ...lines].join('\n'));
        await host.podman.podman('build', '--tag', name, folder);
        await host.podman.podman('create', '--name', 'numbered', name);
        return refuseNumberedGroups(engine, 'numbered', ['104']).finally(() =>
          host.podman.podman('rm', 'numbered'),
        );
      };
      await made();
      await writeFile(join(folder, 'group'), 'root:x:0:\nrender:x:104:\n');
      await made('COPY group /etc/group');
      await writeFile(join(folder, 'group'), 'root:x:0:\n104:x:0:\n');
      await expect(made('COPY group /etc/group')).rejects.toThrow('has a group with the name 104');
      await symlink('other', join(folder, 'etc-group'));
      await promisify(execFile)('tar', [
        ...['-C', folder, '-cf', join(folder, 'link.tar'), '--transform', 's,etc-,etc/,', 'etc-group'],
      ]);
      await expect(made('COPY group /etc/other', 'ADD link.tar /')).rejects.toThrow('104');
    });

    test('no group for the path to its home, which is mounted directly', async () => {
      const ref = join(host.stateDir, 'homes/alice-1/doom');
      const output = await said(
        'print $) . qq(\\n); open F, q(>), qq($ENV{HOME}/saved) and print qq(home works\\n);',
        {
          home: { provider: 'local', ref, container_path: '/home/doom' },
        },
      );
      expect(output).toMatch(/^(7154\d) \1\nhome works$/);
    });
  },
);
