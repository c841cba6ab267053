import { describe, expect, test } from 'vitest';
import { Refused } from './api.mjs';
import { endSessions, startRun, untilEnded } from './runs.mjs';

const BASE = '/v1/admin/hosts/h/encoder-certification';
const ASKED = {
  url: 'https://127.0.0.1',
  host_id: 'h',
  gpu_index: 0,
  encoder: null,
  profiles: ['a'],
  bitrates_kbps: [4_000],
};

/** A service that answers each call with the next answer of its path; the last answer is repeated. */
function serviceOf(answers: Record<string, unknown[]>) {
  const calls: string[] = [];
  const ask = async (method: string, path: string): Promise<unknown> => {
    const call = `${method} ${path}`;
    calls.push(call);
    const given = answers[call] ?? [new Error(`no answer to ${call}`)];
    const answer = given.length > 1 ? given.shift() : given[0];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { api: { ask }, calls };
}

describe('a run of a host with another run', () => {
  test('completes the run that the refusal names, whatever its sentence says', async () => {
    const { api, calls } = serviceOf({
      [`POST ${BASE}/runs`]: [new Refused(409, 'Ein anderer Lauf.', 'r1'), { run_id: 'r2' }],
      [`POST ${BASE}/runs/r1/complete`]: [{}],
    });
    const said: string[] = [];
    expect(await startRun(api, BASE, ASKED, (line) => said.push(line))).toEqual({ run_id: 'r2' });
    expect(calls).toEqual([`POST ${BASE}/runs`, `POST ${BASE}/runs/r1/complete`, `POST ${BASE}/runs`]);
    expect(said).toEqual([expect.stringContaining('r1')]);
  });

  test('is refused if the refusal names no run', async () => {
    const refusal = new Refused(409, 'The host is not online.');
    const { api } = serviceOf({ [`POST ${BASE}/runs`]: [refusal] });
    await expect(startRun(api, BASE, ASKED, () => undefined)).rejects.toBe(refusal);
  });
});

describe('the wait for the end of a session', () => {
  const READ = 'GET /v1/sessions/s1';
  const inState = (state: string) => ({ session: { state } });
  async function waitedMs(answers: unknown[]): Promise<number> {
    let sumMs = 0;
    await untilEnded(serviceOf({ [READ]: answers }).api, 's1', async (ms) => {
      sumMs += ms;
    });
    return sumMs;
  }

  test.each([
    ['stopped', inState('stopped')],
    ['failed', inState('failed')],
    ['deleted', new Refused(404, 'There is no such session.')],
  ])('is over if it is %s', async (_what, last) => {
    expect(await waitedMs([inState('running'), inState('stopping'), last])).toBe(500);
  });

  test('throws the id of a session that does not end', async () => {
    await expect(waitedMs([inState('stopping')])).rejects.toThrow('Session s1 is stopping after 30 s');
  });

  test.each([new Refused(503, 'Try again.'), new Error('connection refused')])(
    'throws the id of a session whose state cannot be read: %s',
    async (error) => {
      await expect(waitedMs([error])).rejects.toThrow(
        `It is not known whether session s1 has ended: ${error.message}`,
      );
    },
  );

  test('does not keep other sessions from being ended', async () => {
    const { api, calls } = serviceOf({
      'DELETE /v1/sessions/s1': [new Error('connection refused')],
      'DELETE /v1/sessions/s2': [{}],
      [READ]: [new Error('connection refused')],
    });
    await expect(endSessions(api, ['s1', 's2'])).rejects.toThrow('session s1');
    expect(calls).toContain('DELETE /v1/sessions/s2');
  });
});
