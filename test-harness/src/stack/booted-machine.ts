import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { openMachineNetwork } from './machine-network.ts';
import { type CommandOutcome, MachineShell } from './machine-shell.ts';
import { eventually } from './program.ts';

const BOOT_LIMIT_MS = 60_000;

/** A simulated machine whose process 1 is a real systemd, in a container with its own network. */
export interface BootedMachine {
  /** the machine's address, which this machine reaches */
  readonly address: string;
  /** Runs a command line in a shell of root. @throws ExpiredWait */
  run(line: string, limitMs?: number): Promise<CommandOutcome>;
  close(): Promise<void>;
}

/**
 * Boots a Debian.
 * @param root its root file system, with the package `systemd-sysv`; the machine changes it
 */
export async function bootMachine(root: string): Promise<BootedMachine> {
  const network = openMachineNetwork();
  const container: ChildProcess = spawn(
    'systemd-nspawn',
    [
      ...['--quiet', '--directory', root, '--boot', '--console=pipe', '--register=no', '--keep-unit'],
      ...['--capability=all', `--network-namespace-path=/run/netns/${network.namespace}`],
    ],
    { stdio: 'ignore' },
  );
  let shell: MachineShell | null = null;
  const close = async () => {
    await shell?.close();
    const gone = new Promise((resolve) => container.once('exit', resolve));
    if (container.exitCode === null && container.signalCode === null) {
      container.kill('SIGTERM');
      await gone;
    }
    network.close();
  };
  try {
    const first = await eventually('the machine has a process 1', BOOT_LIMIT_MS, async () =>
      childOf(container),
    );
    const opened = new MachineShell(['nsenter', '--all', '--target', String(first), '/bin/sh', '-s']);
    shell = opened;
    await eventually('systemd has started its services', BOOT_LIMIT_MS, async () =>
      /running|degraded/.test((await opened.run('systemctl is-system-running')).output) ? true : null,
    );
    return {
      address: network.address,
      run: (line, limitMs) => opened.run(`{ ${line}\n} 2>&1`, limitMs),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Process 1 of the container, as this machine numbers it; null: it does not exist yet. */
function childOf({ pid }: ChildProcess): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const child = children.find((each) => each !== '' && nameOf(each) === 'systemd');
  return child === undefined ? null : Number(child);
}

const nameOf = (pid: string) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
