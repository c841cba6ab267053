import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';

/** A network namespace for a simulated machine. A veth pair connects it to this machine. */
export interface MachineNetwork {
  /** name of the namespace */
  readonly namespace: string;
  /** this machine's address on the veth pair */
  readonly gateway: string;
  /** the simulated machine's address */
  readonly address: string;
  /** Deletes the namespace, after its processes have ended. */
  close(): void;
}

export function openMachineNetwork(): MachineNetwork {
  const mark = randomBytes(3).toString('hex');
  // One of 256 small networks; the last octet of an address selects the end of the veth pair.
  const network = `10.231.${Number.parseInt(mark.slice(0, 2), 16)}`;
  const gateway = `${network}.1`;
  const address = `${network}.2`;
  const namespace = `fl-${mark}`;
  const near = `fl${mark}a`;
  const ip = (...words: string[]) => execFileSync('ip', words);
  ip('netns', 'add', namespace);
  ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  ip('address', 'add', `${gateway}/24`, 'dev', near);
  ip('link', 'set', near, 'up');
  ip('-n', namespace, 'address', 'add', `${address}/24`, 'dev', 'eth0');
  ip('-n', namespace, 'link', 'set', 'eth0', 'up');
  ip('-n', namespace, 'link', 'set', 'lo', 'up');
  ip('-n', namespace, 'route', 'add', 'default', 'via', gateway);
  return { namespace, gateway, address, close: () => void ip('netns', 'delete', namespace) };
}
