import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isTerminal, type SessionEndReason } from '@footlight/protocol';
import type { SessionState } from '@footlight/protocol/agent';
import { type assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { expect } from 'vitest';
import { socketMark } from '../display/display-number.ts';
import { readProcess } from '../runtime/proc-table.ts';
import { startTestAgent } from './test-agent.ts';
import { type DisplayTrace, processesOf, type Traces, tracesOf } from './traces.ts';

export type Assignment = ReturnType<typeof assignment>;

/** Launches and ends sessions of one agent like a control plane, and inspects their processes on this host. */
export class HostedSessions {
  readonly #control: FakeControl;
  readonly #stateDir: string;
  readonly #uids: readonly [number, number];
  readonly #displays: DisplayTrace[] = [];

  /** @param uids range of the agent's session users */
  constructor(control: FakeControl, stateDir: string, uids: readonly [number, number]) {
    this.#control = control;
    this.#stateDir = stateDir;
    this.#uids = uids;
  }

  /** Assigns and starts a session. The caller chooses the session's id, so it can match all reports of the session. */
  async launch(body: Assignment): Promise<void> {
    const { session_id } = body;
    expect(await this.#control.command(body)).toMatchObject({ ok: true });
    expect(await this.#control.command({ type: 'session_start', session_id })).toMatchObject({ ok: true });
  }

  /** Waits for the report with this detail. @throws when the session ends first */
  async reached(body: Assignment, detail: string): Promise<SessionState> {
    const report = await this.#report(body, (each) => each.detail === detail || isTerminal(each.state));
    if (isTerminal(report.state)) throw new Error(`ended instead: ${JSON.stringify(report)}`);
    return report;
  }

  ended(body: Assignment): Promise<SessionState> {
    return this.#report(body, ({ state }) => isTerminal(state));
  }

  async stop(body: Assignment, reason: SessionEndReason = 'user_requested'): Promise<void> {
    await this.#control.command({ type: 'session_stop', session_id: body.session_id, reason });
    expect(await this.ended(body)).toMatchObject({ state: 'stopped', reason });
  }

  /** All reports of the session that have arrived. */
  reports({ session_id }: Assignment): SessionState[] {
    return this.#control.messages.flatMap((message) =>
      message.type === 'session_state' && message.session_id === session_id ? [message] : [],
    );
  }

  /** Details of the launch, in the order of their reports. */
  details(body: Assignment): string[] {
    return this.reports(body).flatMap(({ detail }) => (detail === undefined ? [] : [detail]));
  }

  /** Finds the session's display server, and records the display for traces(). */
  async displayOf({ session_id }: Assignment): Promise<{ number: number; pid: number }> {
    const server = processesOf(session_id).find(({ command }) => command.startsWith('Xvfb'));
    const client = processesOf(session_id).find(({ command }) => command.startsWith('matchbox'));
    if (!server || !client) throw new Error(`no display for uid ${readProcess(server?.pid ?? 0)?.uid}`);
    return { number: await this.displayNumber(client.pid), pid: server.pid };
  }

  /** Number of the display that a process uses. */
  async displayNumber(pid: number): Promise<number> {
    const text = environmentOf(pid).get('DISPLAY') ?? '';
    const number = Number(text.slice(1));
    this.#displays.push({ number, socket: await socketMark(number) });
    return number;
  }

  /** Finds the remains of all sessions of this agent. */
  traces(): Promise<Traces> {
    const ids = this.#control.messages.flatMap((each) =>
      each.type === 'session_state' ? [each.session_id] : [],
    );
    return tracesOf(this.#stateDir, this.#uids, this.#displays, ids);
  }

  #report({ session_id }: Assignment, isWanted: (report: SessionState) => boolean): Promise<SessionState> {
    return this.#control.wait(
      'session_state',
      (report) => report.session_id === session_id && isWanted(report),
    );
  }
}

/**
 * Starts an agent in this process, and a fake control plane. `close` ends both and removes their files.
 * @param uids range of the agent's session users
 * @param env additional environment variables of the agent
 */
export async function startHostedSessions(uids: readonly [number, number], env: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'footlight-sessions-'));
  // Mode 0711, because the users of sessions traverse the folder to reach their homes.
  await chmod(folder, 0o711);
  const stateDir = join(folder, 'state');
  const control = await FakeControl.listen({
    // Answers polls, because a poll without an answer would delay the agent's stop.
    answers: () => ({ status: 200, body: { runs: [], scans: [] } }),
  });
  const agent = await startTestAgent({ control, stateDir, uids }, env);
  await control.wait('heartbeat');
  return {
    control,
    stateDir,
    sessions: new HostedSessions(control, stateDir, uids),
    async close() {
      await agent.stop();
      await control.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Environment variables of a process at its start. */
export function environmentOf(pid: number): Map<string, string> {
  const text = readFileSync(`/proc/${pid}/environ`, 'utf8');
  return new Map(
    text.split('\0').map((entry) => [entry.split('=')[0] ?? '', entry.slice(entry.indexOf('=') + 1)]),
  );
}
