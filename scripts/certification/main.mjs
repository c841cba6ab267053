// scripts/certify: measures for each cell (rung and bitrate) which load a host's encoders sustain, and stores the
// verdicts.

import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { placesFor } from '../bring-up/places.mjs';
import { apiClient, Refused } from './api.mjs';
import { readOptions, usage } from './options.mjs';
import { fits, readRecord, removeRecord, writeRecord } from './record.mjs';
import { endSessions, finalize, startRun, untilEnded } from './runs.mjs';
import { duration, nextCell, passes, remainingMs, slowest } from './sweep.mjs';
import { curveTable, slotsAdvice, verdictTable } from './table.mjs';

const say = (/** @type {string} */ line = '') => process.stdout.write(`${line}\n`);

const stop = new AbortController();

async function main() {
  const words = process.argv.slice(2);
  if (words.length === 0 || words.includes('--help') || words.includes('-h')) {
    process.stdout.write(usage);
    if (words.length === 0) process.exitCode = 2;
    return;
  }
  const options = readOptions(words);
  const url = options.url ?? `https://127.0.0.1:${placesFor(process.env).httpsPort}`;
  const password = process.env.FOOTLIGHT_PASSWORD || (await askPassword(options.email));
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
    process.once(signal, () => {
      if (!stop.signal.aborted) say('\nStopping the current cell. A second Ctrl-C ends at once.');
      stop.abort();
    });
  const api = apiClient(url);
  try {
    await api.signIn(options.email, password);
    const host = await findHost(api, options.host);
    const base = `/v1/admin/hosts/${host.id}/encoder-certification`;
    const done = options.concurrency
      ? await certifyConcurrency(api, base, host, options)
      : await certifySweep(api, base, host, options, url);
    if (!done) process.exitCode = 130;
  } finally {
    await api.signOut();
  }
}

/**
 * @param {import('./api.mjs').Api} api
 * @param {string} named id or name
 * @returns {Promise<{id: string, node_name: string, status: string}>}
 */
async function findHost(api, named) {
  const hosts = [];
  for (let cursor = ''; ; ) {
    const page = await api.ask('GET', `/v1/hosts?limit=1000${cursor}`);
    hosts.push(...page.items);
    if (page.next_cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
  const host = hosts.find(({ id, node_name }) => id === named || node_name === named);
  const names = hosts.map(({ node_name }) => node_name).join(', ');
  if (host === undefined) throw new Error(`There is no host ${named}; there are: ${names || 'none'}.`);
  if (host.status !== 'online')
    throw new Error(`${host.node_name} is ${host.status}; bring it online, and do not drain it.`);
  const active = host.capacity?.active_sessions ?? 0;
  if (active > 0)
    say(`Note: ${active} session(s) run on ${host.node_name}; they make the measured figures worse.`);
  return host;
}

/**
 * Measures the verdicts of all rungs and bitrates.
 * @param {import('./api.mjs').Api} api
 * @param {string} base
 * @param {{id: string, node_name: string}} host
 * @param {import('./options.mjs').Options} options
 * @param {string} url
 * @returns {Promise<boolean>} false: interrupted
 */
async function certifySweep(api, base, host, options, url) {
  const file = path.resolve(options.record ?? `certify-${host.node_name}.json`);
  const asked = {
    url,
    host_id: host.id,
    gpu_index: options.gpu,
    encoder: options.encoder,
    profiles: options.profiles,
    bitrates_kbps: options.bitrates,
  };
  const record = (await resume(api, base, file, asked)) ?? (await plan(api, base, asked));
  const save = () => writeRecord(file, record);
  save();
  const { cells, took_ms } = record;
  say(
    `${host.node_name}, GPU ${record.gpu_index}, ${record.encoder}: ${cells.length} cells, about ${duration(remainingMs(cells, options.dwellMs, took_ms))}. Record: ${file}`,
  );

  for (let cell = nextCell(cells); cell !== null && !stop.signal.aborted; cell = nextCell(cells)) {
    const began = performance.now();
    const place = `[${cells.indexOf(cell) + 1}/${cells.length}]`;
    const what = `${cell.stream_profile_id} at ${cell.bitrate_kbps} kbit/s`;
    /** @type {string | null} */
    let finalized = null;
    try {
      if (record.under_way === null) {
        const { gpu_index, encoder } = record;
        const { stream_profile_id, bitrate_kbps } = cell;
        const wanted = { gpu_index, encoder, stream_profile_id, bitrate_kbps };
        const { session_id } = await api.ask('POST', `${base}/cells`, wanted);
        record.under_way = { session_id, began_ms: Date.now() };
        save();
      }
      const { session_id, began_ms } = record.under_way;
      await dwell(options.dwellMs - Math.max(0, Date.now() - began_ms));
      if (stop.signal.aborted) {
        await endSessions(api, [session_id]);
        record.under_way = null;
        break;
      }
      record.under_way = null;
      finalized = session_id;
      cell.outcome = { kind: 'verdict', ...(await finalize(api, base, session_id)) };
    } catch (error) {
      if (!(error instanceof Refused) || error.status === 401) throw error;
      record.under_way = null;
      cell.outcome = { kind: 'refused', why: error.message };
    }
    save();
    if (finalized !== null) await untilEnded(api, finalized);
    if (cell.outcome?.kind === 'verdict') took_ms.push(performance.now() - began);
    const { verdict, why } = cell.outcome ?? {};
    const left = remainingMs(cells, options.dwellMs, took_ms);
    say(
      `${place} ${what}: ${verdict ?? `refused: ${why}`}${left > 0 ? `, about ${duration(left)} left` : ''}`,
    );
  }
  save();
  say(`\n${verdictTable(cells)}\n`);
  if (cells.some(({ outcome }) => outcome === null)) {
    say(`Interrupted. Repeat the command to continue; ${file} has the finished cells.`);
    return false;
  }
  const run = await api.ask('POST', `${base}/runs/${record.run_id}/complete`);
  removeRecord(file);
  say(
    `${run.completed_pts} of ${run.total_pts} cells measured: ${run.summary_ok} ok, ${run.summary_capped} capped, ${run.summary_unsafe} unsafe.`,
  );
  if (run.status !== 'completed') say(`The run is ${run.status}: ${run.error_message}. The verdicts count.`);
  return true;
}

/**
 * The record of an interrupted sweep, with a new run for the remaining cells.
 * @param {import('./api.mjs').Api} api
 * @param {string} base
 * @param {string} file
 * @param {Parameters<typeof fits>[1]} asked
 * @returns {Promise<import('./record.mjs').SweepRecord | null>} null: there is no record
 */
async function resume(api, base, file, asked) {
  const record = readRecord(file);
  if (record === null) return null;
  if (!fits(record, asked))
    throw new Error(
      `${file} belongs to another sweep: ${record.profiles.join()} at ${record.bitrates_kbps.join()} kbit/s on ${record.encoder}. Continue that one, or remove the file.`,
    );
  say(`Continuing the sweep in ${file}.`);
  const run = await api.ask('GET', `${base}/runs/${record.run_id}`).catch((/** @type {unknown} */ error) => {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  });
  if (run?.status !== 'running') record.run_id = (await startRun(api, base, asked, say)).run_id;
  return record;
}

/**
 * @param {import('./api.mjs').Api} api
 * @param {string} base
 * @param {Parameters<typeof fits>[1]} asked
 * @returns {Promise<import('./record.mjs').SweepRecord>}
 */
async function plan(api, base, asked) {
  const { run_id, encoder, cells } = await startRun(api, base, asked, say);
  return {
    version: 1,
    ...asked,
    encoder,
    run_id,
    cells: cells.map((/** @type {import('./sweep.mjs').Cell} */ cell) => ({ ...cell, outcome: null })),
    took_ms: [],
    under_way: null,
  };
}

/**
 * Measures how many sessions a GPU can encode at once.
 * @param {import('./api.mjs').Api} api
 * @param {string} base
 * @param {{id: string, node_name: string}} host
 * @param {import('./options.mjs').Options} options
 * @returns {Promise<boolean>} false: the measurement was interrupted, so nothing is stored
 */
async function certifyConcurrency(api, base, host, { profiles, bitrates, gpu, encoder, most, dwellMs }) {
  const settings = await api.ask('GET', `/v1/admin/hosts/${host.id}/settings`);
  const family = encoder ?? settings.effective?.encoder ?? 'openh264';
  const [named = ''] = profiles;
  const [bitrate_kbps = 0] = bitrates;
  const cell = { gpu_index: gpu, encoder: family, bitrate_kbps, concurrent: true };
  const isProfile = (await api.ask('GET', '/v1/admin/launch-profiles')).items.some(
    (/** @type {{id: string}} */ { id }) => id === named,
  );
  const rung = isProfile ? { profile_id: named } : { stream_profile_id: named };
  say(
    `${host.node_name}, GPU ${gpu}, ${family}: ${named} at ${bitrate_kbps} kbit/s, one session more at a time.`,
  );
  /** @type {{n: number, encode_ms_p95: number, output_fps: number}[]} */
  const curve = [];
  let sessions = 0;
  // Whether the encoder limited the curve, instead of the host's slots or --most.
  let isWhole = false;
  let rungId = '';
  let fps = 0;
  for (let n = 1; n <= most && !stop.signal.aborted; n += 1) {
    /** @type {string[]} */
    const open = [];
    const verdicts = [];
    try {
      for (let i = 0; i < n; i += 1) {
        const started = await api.ask('POST', `${base}/cells`, { ...cell, ...rung });
        open.push(started.session_id);
        rungId = started.stream_profile_id;
        fps = started.fps;
      }
      await dwell(dwellMs);
      if (stop.signal.aborted) break;
      for (const id of [...open]) {
        verdicts.push(await finalize(api, base, id));
        await untilEnded(api, id);
        open.splice(open.indexOf(id), 1);
      }
    } catch (error) {
      if (!(error instanceof Refused) || n === 1) throw error;
      say(`${n} at once: ${error.message}`);
      break;
    } finally {
      await endSessions(api, open);
    }
    const point = slowest(verdicts);
    curve.push(point);
    const isFast = passes(verdicts, fps);
    say(
      `${n} at once: p95 ${point.encode_ms_p95.toFixed(1)} of ${(1000 / fps).toFixed(1)} ms, ${point.output_fps.toFixed(1)} fps${isFast ? '' : ': too slow'}`,
    );
    isWhole = !isFast;
    if (isWhole) break;
    sessions = n;
  }
  if (stop.signal.aborted) {
    say('Interrupted: nothing is stored. Start it again.');
    return false;
  }
  const filed = { gpu_index: gpu, encoder: family, stream_profile_id: rungId, bitrate_kbps, sessions, curve };
  await api.ask('PUT', `${base}/concurrency`, filed);
  say(`\n${curveTable(curve, 1000 / fps)}\n\n${slotsAdvice(sessions, gpu, isWhole)}`);
  return true;
}

/** Waits; ends early when the command is interrupted. @param {number} ms */
async function dwell(ms) {
  if (ms > 0) await sleep(ms, undefined, { signal: stop.signal }).catch(() => undefined);
}

/** Reads a password on the terminal without showing it. @param {string} email @returns {Promise<string>} */
function askPassword(email) {
  if (!process.stdin.isTTY) throw new Error('Give the password as FOOTLIGHT_PASSWORD.');
  process.stdout.write(`Password of ${email}: `);
  const input = createInterface({ input: process.stdin, terminal: true });
  return new Promise((resolve) => {
    input.question('', (password) => {
      input.close();
      say();
      resolve(password);
    });
  });
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
