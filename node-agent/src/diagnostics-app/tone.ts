import { type ChildProcess, spawn } from 'node:child_process';

const RATE_HZ = 48_000;
const TONE_HZ = 440;
const AMPLITUDE = 0.25 * 32_767;
/** One second contains a whole number of periods, so the buffer can be repeated without a click. */
const ONE_SECOND = Buffer.alloc(RATE_HZ * 2);
for (let i = 0; i < RATE_HZ; i++) {
  ONE_SECOND.writeInt16LE(Math.round(AMPLITUDE * Math.sin((2 * Math.PI * TONE_HZ * i) / RATE_HZ)), i * 2);
}

/**
 * Plays a 440 Hz sine on the session's audio server until the returned function is called. Without an audio server
 * there is no tone and no error.
 */
export function playTone(): () => void {
  const player: ChildProcess = spawn(
    'pacat',
    [
      '--playback',
      '--raw',
      '--format=s16le',
      `--rate=${RATE_HZ}`,
      '--channels=1',
      '--latency-msec=40',
      '--stream-name=tone',
    ],
    { stdio: ['pipe', 'ignore', 'ignore'] },
  );
  let playing = true;
  const feed = () => {
    if (playing) player.stdin?.write(ONE_SECOND, (error) => (error ? undefined : feed()));
  };
  player.on('error', () => {
    playing = false;
  });
  player.stdin?.on('error', () => {
    playing = false;
  });
  feed();
  return () => {
    playing = false;
    player.kill();
  };
}
