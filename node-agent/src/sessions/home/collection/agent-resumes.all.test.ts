import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../../agent.ts';
import { startTestAgent } from '../../../testing/test-agent.ts';
import { GcNotes } from './gc-notes.ts';

const UIDS: [number, number] = [71_350, 71_359];

let directory: string;
let stateDir: string;
let control: FakeControl;
let agent: Agent;

beforeAll(async () => {
  // Not below /tmp, because sessions of a root agent do not see the host's /tmp.
  directory = mkdtempSync('/var/tmp/footlight-resumes-');
  chmodSync(directory, 0o711);
  stateDir = join(directory, 'state');
  mkdirSync(stateDir, { mode: 0o711 });
  control = await FakeControl.listen();
});

afterAll(async () => {
  await agent?.stop();
  await control?.close();
  rmSync(directory, { recursive: true, force: true });
});

test('a starting agent locks the homes that a killed one moved aside: a launch waits, and creates no new home', async () => {
  const id = randomUUID();
  const ref = join(stateDir, 'homes/alice-1/game-2');
  const trash = join(dirname(ref), `.trash-${id}`);
  mkdirSync(trash, { recursive: true });
  writeFileSync(join(trash, 'save'), '');
  const note = { id, provider: 'local', ref, root: join(stateDir, 'homes'), kept: false } as const;
  await new GcNotes(stateDir).write(note);
  // This control plane never answers when the agent asks to confirm the deletion of the home.
  agent = await startTestAgent({ control, stateDir, uids: UIDS });
  await control.wait('heartbeat');
  const body = assignment(['xterm']);
  body.app.home = { provider: 'local', ref, container_path: '/home' };
  expect(await control.command(body)).toMatchObject({ ok: true });
  await control.command({ type: 'session_start', session_id: body.session_id });
  const isMine = (report: { session_id: string }) => report.session_id === body.session_id;
  const waiting = await control.wait('session_state', isMine);
  expect(waiting).toMatchObject({
    state: 'starting',
    detail: 'waiting for the previous session to release its home',
  });
  await control.command({ type: 'session_stop', session_id: body.session_id, reason: 'user_requested' });
  await control.wait('session_state', (report) => isMine(report) && report.state === 'stopped');
  expect([existsSync(ref), existsSync(join(trash, 'save'))]).toEqual([false, true]);
});
