// Works in cycles and leaks one resource in every n-th cycle, so that a test of the leak detector has a leak.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';

const [leak, every, directory] = /** @type {[string, string, string]} */ (
  /** @type {unknown} */ (process.argv.slice(2))
);
const MIB = 1024 * 1024;
/** @type {(() => unknown)[]} */
const kept = [];
let cycle = 0;

/** Opens one resource of each kind, and releases all except the leaking one. */
async function work() {
  cycle += 1;
  const descriptor = openSync('/dev/null', 'r');
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const file = path.join(directory, String(cycle));
  writeFileSync(file, '');
  const buffer = Buffer.alloc(MIB, 1);
  /** @type {Record<string, () => unknown>} */
  const givenBack = {
    descriptor: () => closeSync(descriptor),
    socket: () => new Promise((resolve) => server.close(resolve)),
    process: async () => {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    file: () => rmSync(file),
    buffer: () => buffer.length,
  };
  for (const [what, giveBack] of Object.entries(givenBack)) {
    if (what === leak && cycle % Number(every) === 0) kept.push(giveBack);
    else await giveBack();
  }
  globalThis.gc?.();
}

process.on('message', async (message) => {
  if (message === 'end') {
    for (const giveBack of kept) await giveBack();
    process.exit();
  }
  await work();
  process.send?.('done');
});
