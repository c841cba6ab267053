import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@footlight/platform';
import { ExpiredWait, PATIENCE_MS } from './program.ts';

/** Result of a command on the other machine. */
export interface CommandOutcome {
  code: number;
  /** stdout and stderr together. */
  output: string;
}

export interface OtherMachineOptions {
  hostName: string;
  /** Root file system, which the test changes. Default: this machine's root with an overlay that is discarded. */
  root?: string;
}

/**
 * Simulated second machine with its own process tree, mounts, host name and network. A veth pair connects it to this
 * machine. Process 1 is a shell, not systemd. close() ends all its processes.
 */
export class OtherMachine {
  /** This machine's address on the veth pair. */
  readonly gateway: string;
  readonly #namespace: string;
  readonly #directory: string;
  readonly #shell: ChildProcess;
  #output = '';
  #waiting: (() => void) | null = null;

  constructor(options: OtherMachineOptions) {
    const mark = randomBytes(3).toString('hex');
    // One of 256 small networks; the last octet of an address selects the end of the veth pair.
    const network = `10.231.${Number.parseInt(mark.slice(0, 2), 16)}`;
    this.gateway = `${network}.1`;
    this.#namespace = `fl-${mark}`;
    this.#directory = mkdtempSync('/var/tmp/footlight-machine-');
    const near = `fl${mark}a`;
    const ip = (...words: string[]) => execFileSync('ip', words);
    ip('netns', 'add', this.#namespace);
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#namespace);
    ip('address', 'add', `${this.gateway}/24`, 'dev', near);
    ip('link', 'set', near, 'up');
    ip('-n', this.#namespace, 'address', 'add', `${network}.2/24`, 'dev', 'eth0');
    ip('-n', this.#namespace, 'link', 'set', 'eth0', 'up');
    ip('-n', this.#namespace, 'link', 'set', 'lo', 'up');
    ip('-n', this.#namespace, 'route', 'add', 'default', 'via', this.gateway);

    const root = path.join(this.#directory, 'root');
    for (const name of ['root', 'changes', 'work'])
      mkdirSync(path.join(this.#directory, name), { mode: 0o755 });
    const script = path.join(this.#directory, 'boot.sh');
    writeFileSync(script, bootScript(this.#directory, root, options));
    chmodSync(script, 0o755);
    this.#shell = spawn(
      'ip',
      [
        ...['netns', 'exec', this.#namespace, 'setpriv', '--pdeathsig', 'KILL', '--'],
        ...[
          'unshare',
          '--mount',
          '--pid',
          '--fork',
          '--kill-child',
          '--uts',
          '--ipc',
          '--propagation',
          'private',
          '--',
        ],
        ...['/bin/sh', script],
      ],
      // A process in the simulated machine gets the environment of a login, not the environment of the tests.
      {
        env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    const read = (bytes: Buffer) => {
      this.#output += bytes;
      this.#waiting?.();
    };
    this.#shell.stdout?.on('data', read);
    this.#shell.stderr?.on('data', read);
  }

  /** Runs a command line in a shell. @throws ExpiredWait with the previous output when the time limit passes */
  run(line: string, limitMs = PATIENCE_MS): Promise<CommandOutcome> {
    const end = `__end_${randomBytes(6).toString('hex')}__`;
    const from = this.#output.length;
    const pattern = new RegExp(`${end} (\\d+)\n`);
    return new Promise((resolve, reject) => {
      const timer = systemClock.setTimeout(() => {
        this.#waiting = null;
        reject(new ExpiredWait(`'${line}' did not end within ${limitMs} ms:\n${this.#output.slice(from)}`));
      }, limitMs);
      this.#waiting = () => {
        const match = pattern.exec(this.#output.slice(from));
        if (match === null) return;
        timer.cancel();
        this.#waiting = null;
        resolve({ code: Number(match[1]), output: this.#output.slice(from, from + match.index) });
      };
      this.#shell.stdin?.write(`(${line}\n); echo "${end} $?"\n`);
    });
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.#shell.once('exit', resolve));
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) {
      this.#shell.kill('SIGKILL');
      await gone;
    }
    execFileSync('ip', ['netns', 'delete', this.#namespace]);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function bootScript(directory: string, root: string, { hostName, root: own }: OtherMachineOptions): string {
  const mount =
    own === undefined
      ? `mount -t overlay overlay -o lowerdir=/,upperdir=${directory}/changes,workdir=${directory}/work ${root}
# What agents of this machine keep is not that machine's.
for state in /var/lib/service-agent /etc/footlight /opt/footlight-agent; do
  rm -rf "${root}$state"
done`
      : `mount --bind ${own} ${root}`;
  return `#!/bin/sh
set -eu
hostname ${hostName}
${mount}
mount -t proc proc ${root}/proc
mount --rbind /sys ${root}/sys
mount --rbind /dev ${root}/dev
# Tests of this machine look for what sessions leave in shared memory.
for fresh in run tmp dev/shm; do
  mount -t tmpfs -o mode=1777 tmpfs ${root}/$fresh
done
chmod 755 ${root}/run
cd ${root}
mkdir -p .former
pivot_root . .former
cd /
umount -l /.former
rmdir /.former
grep -q "127.0.1.1 ${hostName}" /etc/hosts || echo "127.0.1.1 ${hostName}" >> /etc/hosts
# Root needs no sudo; the line is run as it was copied.
command -v sudo >/dev/null || { printf '#!/bin/sh\\nexec env "$@"\\n' > /usr/local/bin/sudo; chmod 755 /usr/local/bin/sudo; }
exec /bin/sh -s 2>&1
`;
}
