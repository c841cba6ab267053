/**
 * Load generator in a separate process: reads one job a line from standard input and answers each with one line.
 * Files contain the expected bodies byte for byte; most responses are only counted. The generator uses bare sockets,
 * because an HTTP client library on one core is slower than the server under test.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { LoadFigures, LoadJob, LoadRequestLine } from './load.ts';

/** Every n-th response is compared byte by byte. The length and the status of every response are checked. */
const COMPARE_EVERY = 20;
const TIMEOUT_MS = 20_000;

const bodies = new Map<string, Buffer>();

function bodyOf(file: string): Buffer {
  let body = bodies.get(file);
  if (body === undefined) {
    body = readFileSync(file);
    bodies.set(file, body);
  }
  return body;
}

interface Prepared {
  readonly bytes: Buffer;
  readonly expected: Buffer | null;
}

function prepare(host: string, line: LoadRequestLine): Prepared {
  const { method = 'GET', path, token, forwardedFor, body, expectFile } = line;
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}`,
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...(forwardedFor === undefined ? [] : [`x-forwarded-for: ${forwardedFor}`]),
    ...(body === undefined
      ? []
      : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ];
  return {
    bytes: Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`),
    expected: expectFile === undefined ? null : bodyOf(expectFile),
  };
}

const END_OF_HEAD = '\r\n\r\n';

/** Persistent connection. Every response must have a Content-Length header, which all measured servers send. */
class Connection {
  readonly #socket: Socket;
  #head: Buffer | null = null;
  #left = 0;
  #expected: Buffer | null = null;
  #whole = false;
  #right = true;
  #settle: ((right: boolean) => void) | null = null;

  constructor(url: URL) {
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    this.#socket.setTimeout(TIMEOUT_MS, () => this.#socket.destroy());
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => this.#end(false));
  }

  /** @param whole compare every byte @returns true for the expected response */
  ask({ bytes, expected }: Prepared, whole: boolean): Promise<boolean> {
    this.#expected = expected;
    this.#whole = whole && expected !== null;
    this.#right = true;
    this.#left = 0;
    return new Promise((resolve) => {
      this.#settle = resolve;
      if (this.#socket.destroyed) this.#end(false);
      else this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #end(right: boolean): void {
    const settle = this.#settle;
    this.#settle = null;
    settle?.(right);
  }

  #read(chunk: Buffer): void {
    let body = chunk;
    if (this.#left === 0) {
      const start = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
      const end = start.indexOf(END_OF_HEAD);
      this.#head = end === -1 ? start : null;
      if (end === -1) return;
      const head = start.toString('latin1', 0, end);
      const status = Number(head.slice(9, 12));
      this.#left = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? (status === 204 ? 0 : Number.NaN));
      if (!(status >= 200 && status <= 299) || Number.isNaN(this.#left)) this.#right = false;
      if (this.#expected !== null && this.#left !== this.#expected.length) this.#right = false;
      if (Number.isNaN(this.#left)) this.#socket.destroy();
      body = start.subarray(end + END_OF_HEAD.length);
    }
    if (this.#whole && this.#right && this.#expected !== null) {
      const from = this.#expected.length - this.#left;
      this.#right = body.equals(this.#expected.subarray(from, from + body.length));
    }
    this.#left -= body.length;
    if (this.#left === 0) this.#end(this.#right);
  }
}

async function run(job: LoadJob): Promise<LoadFigures> {
  const times: number[] = [];
  let wrong = 0;
  let answered = 0;
  const startedMs = performance.now();
  let lastMs = startedMs;
  const untilMs = job.seconds === null ? null : startedMs + job.seconds * 1000;
  const url = new URL(job.url);

  async function connection(lines: readonly LoadRequestLine[]): Promise<void> {
    const open = new Connection(url);
    const requests = lines.map((line) => prepare(url.host, line));
    const over = (round: number) => (untilMs === null ? round === job.repeat : lastMs >= untilMs);
    try {
      for (let round = 0; !over(round); round++) {
        for (const request of requests) {
          answered += 1;
          const askedMs = performance.now();
          if (!(await open.ask(request, answered % COMPARE_EVERY === 0))) wrong += 1;
          lastMs = performance.now();
          times.push(lastMs - askedMs);
        }
      }
    } finally {
      open.close();
    }
  }
  await Promise.all(job.connections.map(connection));
  return { requests: times.length, seconds: (lastMs - startedMs) / 1000, wrong, times };
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line) as LoadJob;
  process.stdout.write(`${JSON.stringify(await run(job))}\n`);
}
