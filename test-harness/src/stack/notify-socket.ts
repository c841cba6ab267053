import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { eventually, PATIENCE_MS } from './program.ts';

/**
 * Python program, because Node has no unix datagram sockets. Reads datagrams as systemd does and closes received
 * descriptors.
 */
const RECEIVER = `
import json, socket, sys
address = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\\0" + address[1:] if address[0] == "@" else address)
print(json.dumps("bound"), flush=True)
while True:
    print(json.dumps(s.recv(65536).decode()), flush=True)
`;

/** Notification socket of a Type=notify service (man 3 sd_notify). The test uses it in place of systemd. */
export class NotifySocket {
  /** Received lines, oldest first. */
  readonly lines: string[] = [];
  readonly #receiver: ChildProcess;
  readonly #bound: Promise<void>;

  /** @param address path, or a name in the abstract namespace with a leading @ */
  constructor(readonly address: string) {
    this.#receiver = spawn('/usr/bin/python3', ['-c', RECEIVER, address], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let bound: () => void = () => undefined;
    this.#bound = new Promise((resolve) => {
      bound = resolve;
    });
    createInterface({ input: this.#receiver.stdout! }).on('line', (line) => {
      const text = JSON.parse(line) as string;
      if (text === 'bound') bound();
      else this.lines.push(...text.split('\n'));
    });
  }

  static async open(address: string): Promise<NotifySocket> {
    const socket = new NotifySocket(address);
    await socket.#bound;
    return socket;
  }

  count(line: string): number {
    return this.lines.filter((each) => each === line).length;
  }

  /** Waits until a line was received at least `times` times. */
  said(line: string, times = 1, limitMs = PATIENCE_MS): Promise<true> {
    return eventually(`${line}, ${times} times`, limitMs, () => (this.count(line) >= times ? true : null));
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.#receiver.once('exit', resolve));
    this.#receiver.kill('SIGKILL');
    await gone;
  }
}
