import { execa } from 'execa';
import { expect, test } from 'vitest';

const address = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);

/** Starts programs with each function of the agent that can do so: first while no descriptor is free, then again. */
const SCRIPT = `
  import { closeSync, openSync } from 'node:fs';
  import { systemClock } from '@footlight/platform';
  const { startChild } = await import(${address('./child.ts')});
  const { runProgram } = await import(${address('./run-program.ts')});
  const { forkEntry } = await import(${address('../../media/worker/child-entry.ts')});
  const events = { onMessage: () => undefined, onBroken: () => undefined, onClosed: () => undefined };
  const options = { env: { PATH: process.env.PATH } };
  const held = [];
  try {
    for (;;) held.push(openSync('/dev/null'));
  } catch {}
  const said = [];
  said.push(await startChild(['true'], { ...options, clock: systemClock, onOutput: () => undefined }).then(() => 'started', () => 'not'));
  said.push((await runProgram('true', [])).kind);
  const { child, channel } = forkEntry('scan-main', events, { clock: systemClock, descriptors: ['pipe'] });
  said.push([child.pid, channel, child.stdio[4]].map(String).join());
  // The children's error events are emitted in the next turn of the event loop.
  await new Promise(setImmediate);
  for (const descriptor of held) closeSync(descriptor);
  said.push((await runProgram('true', [])).kind);
  console.log(said.join(' '));
`;

test('a program that cannot be started without free descriptors does not end this process', async () => {
  const words = [
    '--nofile=200:200',
    process.execPath,
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    SCRIPT,
  ];
  const { stdout, stderr } = await execa('prlimit', words, { cwd: import.meta.dirname, reject: false });
  expect(stderr).toBe('');
  expect(stdout).toBe('not not_started undefined,null,undefined ok');
});
