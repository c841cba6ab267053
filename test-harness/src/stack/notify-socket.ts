import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { eventually } from './program.ts';

/** Node has no unix datagram sockets. Reads them as systemd does, and lets go of descriptors that come along. */
const RECEIVER = `
import json, socket, sys
address = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\\0" + address[1:] if address[0] == "@" else address)
print(json.dumps("bound"), flush=True)
while True:
    print(json.dumps(s.recv(65536).decode()), flush=True)
`;

/** Plays the part of systemd that a Type=notify service talks to. */
export class NotifySocket {
  /** What was said, line by line, oldest first. */
  readonly lines: string[] = [];
  readonly #receiver: ChildProcess;
  readonly #bound: Promise<void>;

  /** @param address a path, or with @ in front a name in the abstract namespace */
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

  /** Waits until a line was said at least that often. */
  said(line: string, times = 1, limitMs = 20_000): Promise<true> {
    return eventually(`${line}, ${times} times`, limitMs, () => (this.count(line) >= times ? true : null));
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.#receiver.once('exit', resolve));
    this.#receiver.kill('SIGKILL');
    await gone;
  }
}
