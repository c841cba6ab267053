import { execa } from 'execa';
import { expect, test } from 'vitest';
import { runProgram } from './run-program.ts';

test('output of a program, and how it ended', async () => {
  expect(await runProgram('sh', ['-c', 'echo said; echo beside >&2'])).toEqual({
    kind: 'ok',
    stdout: 'said',
    stderr: 'beside',
  });
  expect(await runProgram('sh', ['-c', 'echo said; echo why >&2; exit 3'])).toEqual({
    kind: 'failed',
    why: 'why',
    stdout: 'said',
  });
  expect(await runProgram('sleep', ['60'], { limitMs: 100 })).toMatchObject({
    kind: 'failed',
    why: 'no answer in time',
  });
  expect(await runProgram('yes', [], { maxBytes: 1_000 })).toMatchObject({ kind: 'failed' });
  expect(await runProgram('no-such-program', [])).toMatchObject({ kind: 'not_started', code: 'ENOENT' });
  expect(await runProgram('/etc/passwd', [])).toMatchObject({ kind: 'not_started', code: 'EACCES' });
});

test('a missing program causes no signal, even if this process exits at that moment', async () => {
  // Signals are only recorded, because the pid of a process that was never started may be any number, even 0 or 1.
  const script = `
    import { ChildProcess } from 'node:child_process';
    import { writeSync } from 'node:fs';
    ChildProcess.prototype.kill = function (signal) { writeSync(1, \`\${signal} to \${this.spawnfile}\`); };
    const { runProgram } = await import(${JSON.stringify(new URL('./run-program.ts', import.meta.url).href)});
    void runProgram('no-such-program', []);
    process.exit();
  `;
  const { stdout } = await execa(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
  });
  expect(stdout).toBe('');
});
