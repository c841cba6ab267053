/**
 * scripts/fake viewer: starts a fake viewer of a running session by hand, and prints what a page would see and receive.
 */
import { setInterval as every } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { errorText } from '@footlight/platform';
import type { ServiceMessage } from '@footlight/protocol/signal';
import { placesFor } from '../../../scripts/bring-up/places.mjs';
import { FakeViewer } from '../fake-viewer/index.ts';
import { ApiClient } from '../stack/api-client.ts';
import { described } from './choice.ts';
import { COMMON_OPTIONS, commonUsage, randomOf, readWords, recordOf, say } from './options.ts';
import { VIEWER_BEHAVIOURS, viewerBehaviourOf, type WatchingViewer } from './viewer-behaviours.ts';

export const viewerUsage = `Usage: scripts/fake viewer [BEHAVIOUR …] --email EMAIL [--session ID] [--url URL]
                           [--seed N] [--record FILE]

Watches a session of this account, by default the newest that runs, until Ctrl-C or until the session is over. Without
a behaviour it does what a page does. The password is FOOTLIGHT_PASSWORD.

${described(VIEWER_BEHAVIOURS)}

  --email EMAIL  of the session's owner
  --session ID   of another session
  --url URL      of the control plane's HTTPS port, by default that of scripts/up on this machine
${commonUsage}`;

/** Runs until the signal aborts or the session is over. @param args after the word `viewer` */
export async function runViewer(args: readonly string[], until: AbortSignal): Promise<void> {
  const { values, positionals: words } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      email: { type: 'string' },
      session: { type: 'string' },
      url: { type: 'string' },
      ...COMMON_OPTIONS,
    },
  });
  let behaviour = viewerBehaviourOf(words);
  const { email, url = `https://127.0.0.1:${placesFor(process.env).httpsPort}` } = values;
  const password = process.env.FOOTLIGHT_PASSWORD;
  if (!email || !password)
    throw new Error('Give the account: --email, and its password as FOOTLIGHT_PASSWORD.');
  const api = new ApiClient(url);
  const viewer = new FakeViewer({ ...behaviour.options, random: randomOf(values.seed) });
  try {
    const { access_token: token } = await api.ask('POST', '/v1/auth/login', { body: { email, password } });
    const id = values.session ?? (await newestSession(api, token));
    const watching: WatchingViewer = {
      viewer,
      async connect() {
        const { signaling } = await api.ask('POST', `/v1/sessions/${id}/signaling-token`, { token });
        await viewer.connect(signaling);
        say('socket open');
      },
    };
    narrate(viewer);
    const record = recordOf(values.record);
    viewer.on('frame', (direction, text) => record('viewer', direction, text));
    readWords(until, (next) => {
      behaviour = viewerBehaviourOf(next);
      viewer.options = behaviour.options;
    });
    say(`session ${id}`);
    await watching.connect();
    await countSeconds(viewer, until, (second) => behaviour.everySecond(watching, second));
  } finally {
    await viewer.close();
    await api.close();
  }
}

async function newestSession(api: ApiClient, token: string): Promise<string> {
  const { items } = await api.ask('GET', '/v1/sessions', { token });
  const running = items.find(({ state }: { state: string }) => state === 'running' || state === 'starting');
  if (running === undefined) throw new Error('This account has no session that runs; launch an app first.');
  return running.id;
}

/** Prints a line for each event of the viewer. */
function narrate(viewer: FakeViewer): void {
  viewer.on('message', (message) => say(`← ${summary(message)}`));
  viewer.on('state', (pcId, state) => say(`connection ${pcId.slice(0, 8)}: ${state}`));
  viewer.on('control', (message) => say(`← control: ${message.type}`));
  viewer.on('closed', (code, reason) =>
    say(`socket closed with ${code}${reason === '' ? '' : ` (${reason})`}`),
  );
}

function summary(message: ServiceMessage): string {
  switch (message.type) {
    case 'ready': {
      const { session, stream } = message;
      return `ready: ${session.state}, ${stream.codec} ${stream.width}×${stream.height} at ${stream.fps}/s`;
    }
    case 'offer':
      return `offer of connection ${message.pc_id.slice(0, 8)} (${message.reason})`;
    case 'candidate':
      return `candidate ${message.candidate.split(' ').slice(2, 8).join(' ')}`;
    default: {
      const { type, ...fields } = message;
      return `${type} ${JSON.stringify(fields)}`;
    }
  }
}

/**
 * Prints the received media of each second. Ends when the signal aborts, or when the service has closed the socket
 * permanently.
 */
async function countSeconds(
  viewer: FakeViewer,
  until: AbortSignal,
  act: (second: number) => Promise<void>,
): Promise<void> {
  const { counters } = viewer.video;
  let before = { ...counters, sound: 0 };
  let second = 0;
  try {
    for await (const _ of every(1_000, undefined, { signal: until })) {
      second += 1;
      const rate = Math.round(((counters.bytes - before.bytes) * 8) / 1_000);
      say(
        `${second} s: ${counters.frames - before.frames} frames, ${counters.keyframes - before.keyframes} keyframes, ` +
          `${rate} kbit/s, ${counters.lost - before.lost} lost, ${viewer.audio.packets - before.sound} packets of sound`,
      );
      before = { ...counters, sound: viewer.audio.packets };
      await act(second).catch((error: unknown) => say(errorText(error)));
      if (viewer.closeCode !== null && !viewer.isConnected) return;
    }
  } catch (error) {
    if (!until.aborted) throw error;
  }
}
