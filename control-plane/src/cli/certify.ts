/** footlight certify: measures what the encoders of a host sustain. */
import { pause, SECOND_MS } from '@footlight/platform';
import type { Success } from '@footlight/protocol/rest';
import { ask } from './ask.ts';
import type { Client } from './client.ts';
import { CliFailure, EXIT, type ExitCode } from './failure.ts';
import type { ApiRequest } from './request.ts';
import { rowLines } from './show.ts';
import { printJson, printLines, type Terminal } from './terminal.ts';

/** Time of a measurement. The description of `certification.startCell` has it. */
const CELL_MS = 25 * SECOND_MS;
/** A host ends a session within 3 s; another cell would measure while the former one still encodes. */
const END_POLL_MS = SECOND_MS / 4;
const END_LIMIT_MS = 30 * SECOND_MS;

type Cell = Success<'certification.startRun'>['cells'][number];
/** A cell with its verdict and figures; `why` is the reason if it could not be measured. */
type Row = Cell &
  Omit<Partial<Success<'certification.finalizeCell'>>, 'verdict'> & { verdict: string; why?: string };

/** Measures each cell of a new run. @param start the request that plans the run */
export async function certify(
  terminal: Terminal,
  given: Client,
  start: ApiRequest,
  isJson: boolean,
): Promise<ExitCode> {
  const client = uninterrupted(given);
  const run = (await client.call(start)).body as Success<'certification.startRun'>;
  const params = { id: run.host_id };
  const rows: Row[] = [];
  const count = run.cells.length;
  terminal.err(
    `${count} measurements of ${run.encoder}, about ${Math.ceil((count * CELL_MS) / 60_000)} min.\n`,
  );
  for (const cell of run.cells) {
    if (terminal.interrupted.aborted) break;
    const row = await measure(terminal, client, run, cell);
    if (row === null) break;
    rows.push(row);
    const what = `${cell.stream_profile_id} at ${cell.bitrate_kbps} kbit/s`;
    terminal.err(`[${rows.length}/${count}] ${what}: ${row.verdict}${row.why ? `, ${row.why}` : ''}\n`);
  }
  const ended = await ask(client, 'certification.completeRun', { params: { ...params, run_id: run.run_id } });
  if (isJson) printJson(terminal, { run: ended, cells: rows });
  else {
    const columns = 'stream_profile_id bitrate_kbps verdict encode_ms_p95 output_fps';
    printLines(terminal, rowLines(columns, rows, terminal.timeZone));
  }
  const isWhole = rows.length === count && ended.status === 'completed';
  if (!isWhole) terminal.err(`The run is not complete. ${ended.error_message ?? ''}\n`);
  return isWhole && rows.every(({ why }) => why === undefined) ? EXIT.success : EXIT.failed;
}

/** After an interruption, the session and the run must still be ended. */
function uninterrupted(client: Client): Client {
  const { signal } = new AbortController();
  return { ...client, call: (asked) => client.call(asked, { signal }) };
}

/** @returns null: the person interrupted it */
async function measure(
  terminal: Terminal,
  client: Client,
  run: Success<'certification.startRun'>,
  cell: Cell,
): Promise<Row | null> {
  const { encoder, gpu_index, host_id } = run;
  const { stream_profile_id, bitrate_kbps } = cell;
  const body = { gpu_index, encoder, stream_profile_id, bitrate_kbps };
  try {
    const { session_id } = await ask(client, 'certification.startCell', { params: { id: host_id }, body });
    await pause(terminal.clock, CELL_MS, terminal.interrupted);
    if (terminal.interrupted.aborted) {
      await ask(client, 'sessions.delete', { params: { id: session_id } });
      return null;
    }
    const verdict = await ask(client, 'certification.finalizeCell', { params: { id: host_id, session_id } });
    await untilEnded(terminal, client, session_id);
    return { ...cell, ...verdict };
  } catch (error) {
    // A refused cell does not prevent the others.
    if (!(error instanceof CliFailure) || error.exitCode !== EXIT.failed) throw error;
    return { ...cell, verdict: 'refused', why: error.message };
  }
}

async function untilEnded(terminal: Terminal, client: Client, id: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < END_LIMIT_MS; waitedMs += END_POLL_MS) {
    const { session } = await ask(client, 'sessions.read', { params: { id } });
    if (session.state === 'stopped' || session.state === 'failed') return;
    await pause(terminal.clock, END_POLL_MS, terminal.interrupted);
  }
}
