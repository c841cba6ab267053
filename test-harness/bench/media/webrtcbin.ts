import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import type { Browser } from '../../src/browser/chromium.ts';
import { repositoryRoot } from '../../src/stack/program.ts';
import { installProbe } from '../page-probe.ts';

export interface Peer {
  readonly page: Page;
  stop(): Promise<void>;
}

const PAGE = `<!doctype html><meta charset="utf-8"><title>peer</title>
<style>html,body{margin:0;background:#000}video{width:100vw;height:100vh;object-fit:contain}</style>
<video autoplay muted playsinline></video>`;

/**
 * Opens an otherwise empty page that shows this display, sent by GStreamer's webrtcbin. Pointer presses are sent back
 * to it.
 */
export async function startWebrtcbin(
  browser: Browser,
  display: string,
  stream: { width: number; height: number; fps: number; bitrate_kbps: number },
): Promise<Peer> {
  const page = await browser.newPage();
  await installProbe(page);
  // https: the probe's VideoFrame exists in secure contexts only.
  await page.route('https://peer.test/', (route) => route.fulfill({ contentType: 'text/html', body: PAGE }));
  await page.goto('https://peer.test/');
  const child = spawn(
    '/usr/bin/python3',
    [
      path.join(repositoryRoot, 'test-harness', 'bench', 'media', 'webrtcbin-peer.py'),
      display,
      String(stream.fps),
      String(stream.bitrate_kbps),
    ],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const tell = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  await page.exposeFunction('tellPeer', tell);
  await page.evaluate(({ width, height }) => {
    const tellPeer = (window as unknown as { tellPeer: (message: object) => void }).tellPeer;
    const connection = new RTCPeerConnection();
    const video = document.querySelector('video');
    connection.ontrack = (event) => {
      if (video !== null) video.srcObject = event.streams[0] ?? new MediaStream([event.track]);
    };
    connection.ondatachannel = ({ channel }) => {
      window.addEventListener('pointerdown', (event) => {
        const x = Math.round((event.clientX / window.innerWidth) * width);
        const y = Math.round((event.clientY / window.innerHeight) * height);
        channel.send(`click ${x} ${y}`);
      });
    };
    connection.onicecandidate = ({ candidate }) => {
      if (candidate?.candidate)
        tellPeer({ type: 'candidate', mline: candidate.sdpMLineIndex ?? 0, candidate: candidate.candidate });
    };
    const early: RTCIceCandidateInit[] = [];
    (
      window as unknown as {
        hearPeer: (message: {
          type: string;
          sdp?: string;
          mline?: number;
          candidate?: string;
        }) => Promise<void>;
      }
    ).hearPeer = async (message) => {
      if (message.type === 'offer' && message.sdp !== undefined) {
        await connection.setRemoteDescription({ type: 'offer', sdp: message.sdp });
        await connection.setLocalDescription(await connection.createAnswer());
        tellPeer({ type: 'answer', sdp: connection.localDescription?.sdp });
        for (const candidate of early) await connection.addIceCandidate(candidate);
      } else if (message.candidate !== undefined) {
        const candidate = { candidate: message.candidate, sdpMLineIndex: message.mline ?? 0 };
        if (connection.remoteDescription === null) early.push(candidate);
        else await connection.addIceCandidate(candidate).catch(() => undefined);
      }
    };
  }, stream);
  createInterface({ input: child.stdout }).on('line', (line) => {
    void page
      .evaluate(
        (message) => (window as unknown as { hearPeer: (m: unknown) => Promise<void> }).hearPeer(message),
        JSON.parse(line),
      )
      .catch(() => undefined);
  });
  return {
    page,
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
      await page.close();
    },
  };
}
