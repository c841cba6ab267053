import { startBrowser } from '../../src/browser/chromium.ts';
import { startBareDisplay } from '../display.ts';
import { START_LIMIT_MS, startAgentWorker, type WorkerSession } from './agent-worker.ts';
import { startMovingPicture } from './moving-picture.ts';
import type { SlowPath } from './slow-path.ts';

/**
 * A path with the agent's media worker on one side and a real browser on the other. The picture uses the full bitrate.
 */
export interface WorkerViewer {
  /** Changes of the encoder's target since the start: Unix milliseconds, kbit/s. */
  readonly setpoints: { atMs: number; kbps: number }[];
  readonly failures: string[];
  readonly metrics: Record<string, unknown>[];
  /** Returns the page's record, and clears both lists. */
  take(): Promise<PageRecord>;
  close(): Promise<void>;
}

export interface PageRecord {
  /** Unix milliseconds of each shown picture. */
  pictures: number[];
  /** Bytes of video received so far, sampled ten times a second. */
  received: { atMs: number; bytes: number }[];
}

export interface WorkerViewerOptions {
  path: SlowPath;
  settings: Record<string, unknown>;
  stream: WorkerSession['stream'];
}

declare global {
  interface Window {
    footlightViewer: PageRecord;
    tellWorker(message: object): void;
    hearWorker(message: {
      type: string;
      sdp?: string;
      candidate?: string;
      mid?: string | null;
    }): Promise<void>;
  }
}

const PAGE = `<!doctype html><meta charset="utf-8"><title>viewer</title>
<style>html,body{margin:0;background:#000}video{width:100vw;height:100vh}</style>
<video autoplay muted playsinline></video>`;

export async function openWorkerViewer(options: WorkerViewerOptions): Promise<WorkerViewer> {
  const undo: (() => Promise<void> | void)[] = [];
  const close = async () => {
    for (const step of undo.reverse()) await step();
    undo.length = 0;
  };
  try {
    return await open(options, undo, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(
  { path: slowPath, settings, stream }: WorkerViewerOptions,
  undo: (() => Promise<void> | void)[],
  close: () => Promise<void>,
): Promise<WorkerViewer> {
  const display = await startBareDisplay(stream);
  undo.push(() => display.stop());
  const drawing = startMovingPicture(display.name, stream);
  undo.push(async () => (await drawing.catch(() => null))?.stop());
  const worker = startAgentWorker(null);
  undo.push(() => worker.close());

  const browser = await startBrowser(
    { width: 1280, height: 720 },
    {
      // The worker cannot resolve the multicast DNS names with which browsers hide their addresses.
      flags: ['--disable-features=WebRtcHideLocalIpsWithMdns', '--autoplay-policy=no-user-gesture-required'],
      ...(slowPath.browserProgram === null ? {} : { program: slowPath.browserProgram }),
    },
  );
  undo.push(() => browser.close());
  const page = await browser.newPage();
  await page.addInitScript('globalThis.__name = (fn) => fn');
  await page.route('http://viewer.test/', (route) => route.fulfill({ contentType: 'text/html', body: PAGE }));
  await page.goto('http://viewer.test/');

  const setpoints: { atMs: number; kbps: number }[] = [];
  const failures: string[] = [];
  const metrics: Record<string, unknown>[] = [];
  let pcId = '';
  const toPage = (message: object) => {
    void page
      .evaluate((m) => window.hearWorker(m as Parameters<typeof window.hearWorker>[0]), message)
      .catch(() => undefined);
  };
  worker.onExit((why) => failures.push(`it ended: ${why}`));
  worker.onMessage((message) => {
    if (message.type === 'failure') failures.push(String(message.error));
    if (message.type === 'metrics') metrics.push(message.metrics);
    if (message.type === 'event' && message.event === 'abr.retarget') {
      setpoints.push({ atMs: message.ts, kbps: message.payload.to_kbps });
    }
    if (message.type !== 'signal') return;
    const { msg } = message;
    if (msg.type === 'offer') {
      pcId = msg.pc_id;
      toPage({ type: 'offer', sdp: msg.sdp });
    }
    if (msg.type !== 'candidate' || msg.candidate === '') return;
    const candidate = slowPath.candidate(msg.candidate, 'viewer');
    if (candidate !== null) toPage({ type: 'candidate', candidate, mid: msg.mid });
  });
  await page.exposeFunction(
    'tellWorker',
    (message: { type: string; sdp?: string; candidate?: string; mid?: string }) => {
      if (message.type === 'answer') {
        worker.send({ type: 'signal', conn: 1, msg: { type: 'answer', pc_id: pcId, sdp: message.sdp } });
        return;
      }
      const candidate = slowPath.candidate(message.candidate ?? '', 'worker');
      if (candidate === null) return;
      worker.send({
        type: 'signal',
        conn: 1,
        msg: { type: 'candidate', pc_id: pcId, candidate, mid: message.mid },
      });
    },
  );
  await page.evaluate(watchPage);

  await drawing;
  const addresses = [slowPath.address];
  await worker.begin({ display: display.name, stream, settings, addresses });
  worker.attach();
  await page.waitForFunction(() => window.footlightViewer.pictures.length > 10, undefined, {
    timeout: START_LIMIT_MS,
  });
  return {
    setpoints,
    failures,
    metrics,
    take: () =>
      page.evaluate(() => {
        const record = window.footlightViewer;
        window.footlightViewer = { pictures: [], received: [] };
        return record;
      }),
    close,
  };
}

/** Runs in the page: answers the worker and records every picture. */
function watchPage(): void {
  window.footlightViewer = { pictures: [], received: [] };
  const now = () => performance.timeOrigin + performance.now();
  const connection = new RTCPeerConnection();
  for (const [label, id] of [
    ['input', 0],
    ['motion', 1],
    ['control', 2],
  ] as const) {
    connection.createDataChannel(label, { negotiated: true, id });
  }
  const video = document.querySelector('video');
  connection.ontrack = ({ track, receiver }) => {
    if (video === null || track.kind !== 'video') return;
    video.srcObject = new MediaStream([track]);
    const shown = () => {
      window.footlightViewer.pictures.push(now());
      video.requestVideoFrameCallback(shown);
    };
    video.requestVideoFrameCallback(shown);
    setInterval(async () => {
      for (const entry of (await receiver.getStats()).values()) {
        if (entry.type === 'inbound-rtp') {
          window.footlightViewer.received.push({
            atMs: now(),
            bytes: entry.bytesReceived + entry.headerBytesReceived,
          });
        }
      }
    }, 100);
  };
  connection.onicecandidate = ({ candidate }) => {
    if (candidate?.candidate) {
      window.tellWorker({ type: 'candidate', candidate: candidate.candidate, mid: candidate.sdpMid });
    }
  };
  const early: RTCIceCandidateInit[] = [];
  window.hearWorker = async ({ type, sdp, candidate, mid }) => {
    if (type === 'offer' && sdp !== undefined) {
      await connection.setRemoteDescription({ type: 'offer', sdp });
      await connection.setLocalDescription(await connection.createAnswer());
      // The worker's filter counts only candidates that arrive one by one, so the candidates are removed from the
      // answer.
      const answer = (connection.localDescription?.sdp ?? '').replace(/a=candidate:.*\r\n/g, '');
      window.tellWorker({ type: 'answer', sdp: answer });
      for (const waiting of early) await connection.addIceCandidate(waiting);
    } else if (candidate !== undefined) {
      const init = { candidate, sdpMid: mid ?? 'video' };
      if (connection.remoteDescription === null) early.push(init);
      else await connection.addIceCandidate(init).catch(() => undefined);
    }
  };
}
