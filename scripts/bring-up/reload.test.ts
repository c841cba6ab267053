import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reloadOnChange } from './reload.mjs';

let base: string;
let end: () => void;
let said: string[];
let built: string[];
let restarted: string[];
let broken: string | null;
/** Ends the running build; null: builds end at once. */
let held: Promise<void> | null;

beforeEach(() => {
  base = mkdtempSync(path.join(tmpdir(), 'footlight-reload-'));
  for (const folder of ['agent', 'shared']) mkdirSync(path.join(base, folder, 'deep'), { recursive: true });
  [said, built, restarted, broken, held] = [[], [], [], null, null];
  const part = (name: string, sources: string[]) => ({
    name,
    sources,
    build: async () => {
      built.push(name);
      await held;
      if (broken !== null) throw Object.assign(new Error('exit 1'), { stderr: broken });
    },
    restart: async () => void restarted.push(name),
  });
  end = reloadOnChange(
    [part('agent', ['agent', 'shared']), part('control plane', ['shared'])],
    (line) => said.push(line),
    base,
  );
});

afterEach(() => {
  end();
  rmSync(base, { recursive: true, force: true });
});

const write = (file: string) => writeFileSync(path.join(base, file), 'changed');

test('a change builds and restarts the affected parts, once for several files', async () => {
  write('agent/a.ts');
  write('agent/deep/b.ts');
  await expect.poll(() => restarted).toEqual(['agent']);
  expect(built).toEqual(['agent']);
  write('shared/c.ts');
  await expect.poll(() => restarted.slice(1).sort()).toEqual(['agent', 'control plane']);
});

test('a failed build is reported, and the running program continues', async () => {
  broken = 'a.ts:1: unexpected end of file';
  write('agent/a.ts');
  await expect
    .poll(() => said)
    .toEqual(['The agent does not build; the running program continues.\na.ts:1: unexpected end of file']);
  broken = null;
  write('agent/a.ts');
  await expect.poll(() => restarted).toEqual(['agent']);
});

test('a change during a build is built after it', async () => {
  let go: () => void = () => undefined;
  held = new Promise((resolve) => {
    go = resolve;
  });
  write('agent/a.ts');
  await expect.poll(() => built).toEqual(['agent']);
  write('agent/b.ts');
  // The debounce of this other part began later. So its build shows that the earlier change was noticed too.
  write('shared/c.ts');
  await expect.poll(() => built).toContain('control plane');
  go();
  held = null;
  await expect.poll(() => built.filter((name) => name === 'agent').length).toBe(2);
});

test('tests, hidden files and built files restart nothing', async () => {
  for (const file of ['agent/a.test.ts', 'agent/.a.ts.swp', 'agent/a.ts~']) write(file);
  write('shared/c.ts');
  await expect.poll(() => restarted.length).toBe(2);
  expect(built.sort()).toEqual(['agent', 'control plane']);
});
