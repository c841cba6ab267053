import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type MachineNetwork, openMachineNetwork } from './machine-network.ts';
import { type CommandOutcome, MachineShell } from './machine-shell.ts';

export interface OtherMachineOptions {
  hostName: string;
  /** Root file system, which the test changes. Default: this machine's root with an overlay that is discarded. */
  root?: string;
}

/**
 * Simulated second machine with its own process tree, mounts, host name and network. Process 1 is a shell, not systemd.
 * close() ends all its processes.
 */
export class OtherMachine {
  readonly #network: MachineNetwork = openMachineNetwork();
  /** This machine's address on the veth pair. */
  readonly gateway = this.#network.gateway;
  readonly #directory: string;
  readonly #shell: MachineShell;

  constructor(options: OtherMachineOptions) {
    this.#directory = mkdtempSync('/var/tmp/footlight-machine-');
    const root = path.join(this.#directory, 'root');
    for (const name of ['root', 'changes', 'work'])
      mkdirSync(path.join(this.#directory, name), { mode: 0o755 });
    const script = path.join(this.#directory, 'boot.sh');
    writeFileSync(script, bootScript(this.#directory, root, options));
    chmodSync(script, 0o755);
    this.#shell = new MachineShell([
      ...(['ip', 'netns', 'exec', this.#network.namespace, 'setpriv', '--pdeathsig', 'KILL', '--'] as const),
      ...['unshare', '--mount', '--pid', '--fork', '--kill-child', '--uts', '--ipc'],
      ...['--propagation', 'private', '--', '/bin/sh', script],
    ]);
  }

  /** Runs a command line in a shell. @throws ExpiredWait with the previous output when the time limit passes */
  run(line: string, limitMs?: number): Promise<CommandOutcome> {
    return this.#shell.run(line, limitMs);
  }

  async close(): Promise<void> {
    await this.#shell.close();
    this.#network.close();
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
