import { createHmac } from 'node:crypto';
import { startTurnServer, type TurnServer } from '@footlight/test-harness/turn-server';
import { PeerConnection } from 'node-datachannel';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { nativeIceServers } from './ice-servers.ts';

const SECRET = 'a-turn-secret-of-a-test';
let server: TurnServer;

beforeAll(async () => {
  server = await startTurnServer({ address: '127.0.0.1', secret: SECRET });
});
afterAll(() => server?.stop());

test('the library allocates a relay at a TURN server over UDP, and candidates name it', async () => {
  const username = `${Math.floor(Date.now() / 1000) + 600}:session`;
  const credential = createHmac('sha1', SECRET).update(username).digest('base64');
  const { port } = server;
  const urls = [`turns:127.0.0.1:${port}`, `turn:127.0.0.1:${port}?transport=tcp`, `turn:127.0.0.1:${port}`];
  const connection = new PeerConnection('relay', {
    iceServers: nativeIceServers([{ urls, username, credential }]),
    disableAutoNegotiation: true,
  });
  const found: string[] = [];
  connection.onLocalCandidate((candidate) => found.push(candidate));
  connection.createDataChannel('data');
  connection.setLocalDescription('offer');
  try {
    const relayed = () => found.filter((line) => line.includes(' typ relay '));
    await vi.waitFor(() => expect(relayed()).toHaveLength(1), { timeout: 60_000 });
    await expect.poll(() => server.log()).toContain(`username=<${username}>`);
  } finally {
    connection.close();
  }
});
