import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { Clock } from '@footlight/platform';
import type { Codec } from '@footlight/protocol';
import { MAX_RECORDING_BYTES } from '@footlight/protocol/agent';
import { RECORDS_FD, type WriteAnswer, writeAnswer } from '../media/recording/write-messages.ts';
import { forkEntry } from '../media/worker/child-entry.ts';

/** Time limit of writing. It is enough, because a ring is only copied, not encoded. Chosen, not measured. */
const WRITE_LIMIT_MS = 30_000;
/** User id of the user `nobody` in Debian. */
const NOBODY = 65_534;

export interface WriteRecording {
  codec: Codec;
  /** Records from RecordingRing.frozen(). */
  records: readonly Buffer[];
  /** An empty, writable file; the caller closes it. */
  file: FileHandle;
}

/**
 * Writes records as fragmented MP4, without encoding again, in a separate process. The process lacks the agent's
 * rights, runs for at most 30 s, and writes at most 72 MiB. Never rejects.
 */
export async function writeRecording(
  { codec, records, file }: WriteRecording,
  { clock, env = {} }: { clock: Clock; env?: Record<string, string> },
): Promise<WriteAnswer> {
  const isRoot = process.getuid?.() === 0;
  return new Promise((resolve) => {
    const { child, channel } = forkEntry(
      'recording-main',
      {
        onMessage: (raw) => {
          const answer = writeAnswer.safeParse(raw);
          settle(answer.success ? answer.data : { ok: false, why: 'the writer gave no readable answer' });
        },
        onBroken: (why) => settle({ ok: false, why: `writer: ${why}` }),
        onClosed: () => undefined,
      },
      {
        clock,
        env,
        within: [
          ...(isRoot ? ['unshare', '--net', '--ipc', '--'] : []),
          ...['prlimit', `--fsize=${MAX_RECORDING_BYTES}`, '--'],
        ],
        descriptors: ['pipe', file.fd],
      },
    );
    let settled = false;
    const settle = (answer: WriteAnswer) => {
      if (settled) return;
      settled = true;
      timer.cancel();
      child.kill('SIGKILL');
      resolve(answer);
    };
    const timer = clock.setTimeout(
      () => settle({ ok: false, why: `it was not written within ${WRITE_LIMIT_MS} ms` }),
      WRITE_LIMIT_MS,
    );
    child.once('error', (error) => settle({ ok: false, why: `writer: ${error.message}` }));
    // Not `exit`, which can come before the answer has been read.
    child.once('close', (code, signal) =>
      settle({ ok: false, why: `the writer ended with ${signal ?? `code ${code}`}` }),
    );
    channel?.send({ codec, uid: isRoot ? NOBODY : null });
    const pipe = child.stdio[RECORDS_FD];
    if (pipe instanceof Writable) void send(records, pipe);
  });
}

async function send(records: readonly Buffer[], pipe: Writable): Promise<void> {
  // Errors are ignored: the pipe breaks when the writer ends, and the writer's exit is handled instead.
  pipe.on('error', () => undefined);
  const closed = once(pipe, 'close').catch(() => undefined);
  for (const record of records) {
    if (pipe.destroyed) return;
    if (!pipe.write(record)) await Promise.race([once(pipe, 'drain').catch(() => undefined), closed]);
  }
  pipe.end();
}
