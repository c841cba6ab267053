// Starts certification runs, and finalizes and ends the sessions of their cells.
import { setTimeout as sleep } from 'node:timers/promises';
import { Refused } from './api.mjs';

/** Interval and time limit for polling a session that ends. The host ends it within 3 s after the command. */
const ENDED_EVERY_MS = 250;
const ENDED_LIMIT_MS = 30_000;
const FINAL_STATES = ['stopped', 'failed'];

/** @typedef {Pick<import('./api.mjs').Api, 'ask'>} Api */

/**
 * Starts a run. If another run of the host has not ended, it is completed first.
 * @param {Api} api
 * @param {string} base
 * @param {Parameters<typeof import('./record.mjs').fits>[1]} asked
 * @param {(line: string) => void} say
 */
export async function startRun(api, base, { gpu_index, encoder, profiles, bitrates_kbps }, say) {
  const wanted = { gpu_index, profiles, bitrates_kbps, ...(encoder !== null && { encoder }) };
  try {
    return await api.ask('POST', `${base}/runs`, wanted);
  } catch (error) {
    const other = error instanceof Refused ? error.runId : null;
    if (other === null) throw error;
    // Without its record, the run cannot be continued. It must be completed, because it would block other runs for two
    // hours.
    say(`The earlier run ${other} of this host was not completed; it is completed first.`);
    await api.ask('POST', `${base}/runs/${other}/complete`);
    return api.ask('POST', `${base}/runs`, wanted);
  }
}

/**
 * Finalizes a cell. Its session then ends; `untilEnded` waits for that.
 * @param {Api} api
 * @param {string} base
 * @param {string} sessionId
 * @returns {Promise<any>} verdict and figures
 */
export async function finalize(api, base, sessionId) {
  const { session_id: _, ...derived } = await api.ask('POST', `${base}/cells/${sessionId}/finalize`);
  return derived;
}

/**
 * Ends sessions and waits until all have ended.
 * @param {Api} api
 * @param {readonly string[]} sessionIds
 * @throws Error as untilEnded
 */
export async function endSessions(api, sessionIds) {
  // All sessions are asked to end before the first wait, because the wait may throw. Its error also covers a failed
  // request.
  for (const id of sessionIds) await api.ask('DELETE', `/v1/sessions/${id}`).catch(() => undefined);
  for (const id of sessionIds) await untilEnded(api, id);
}

/**
 * Waits until a session has ended, so that it does not slow down the next one. A deleted session has ended too.
 * @param {Api} api
 * @param {string} sessionId
 * @param {(ms: number) => Promise<void>} [wait]
 * @throws Error with the session's id, if the session does not end in time or its state cannot be read
 */
export async function untilEnded(api, sessionId, wait = sleep) {
  let state = 'unknown';
  for (let waitedMs = 0; waitedMs < ENDED_LIMIT_MS; waitedMs += ENDED_EVERY_MS) {
    try {
      const { session } = await api.ask('GET', `/v1/sessions/${sessionId}`);
      state = session.state;
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return;
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`It is not known whether session ${sessionId} has ended: ${why}`, { cause: error });
    }
    if (FINAL_STATES.includes(state)) return;
    await wait(ENDED_EVERY_MS);
  }
  throw new Error(
    `Session ${sessionId} is ${state} after ${ENDED_LIMIT_MS / 1000} s; it would make the next measurement worse. End it, then repeat the command.`,
  );
}
