import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { startTurnServer, type TurnServer } from '@footlight/test-harness/turn-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintIceServers, turnCredentials } from './ice-servers.ts';

const SECRET = 'a-turn-secret-of-a-test';
const SESSION = '0192f1de-7a3b-7c54-9d0e-2a1b3c4d5e6f';
const run = promisify(execFile);

/**
 * Allocates relays with coturn's own client, and sends a message through them.
 * @param words for example -t: TCP to the server
 */
async function relays(
  { port }: TurnServer,
  username: string,
  credential: string,
  words: string[] = [],
): Promise<boolean> {
  // -y: both ends are clients of the server; -c: no RTCP; -n: messages.
  const general = ['-y', '-c', '-n', '1', '-p', String(port), ...words];
  const args = [...general, '-u', username, '-w', credential, '127.0.0.1'];
  try {
    const { stdout } = await run('turnutils_uclient', args, { timeout: 60_000 });
    return /tot_recv_msgs=[1-9]/.test(stdout);
  } catch {
    return false;
  }
}

describe('coturn with use-auth-secret', () => {
  let server: TurnServer;
  beforeAll(async () => {
    const lines = ['allow-loopback-peers'];
    server = await startTurnServer({ address: '127.0.0.1', secret: SECRET, lines });
  });
  afterAll(() => server?.stop());

  const minted = () => {
    const config = {
      iceServers: [],
      turn: { urls: [`turn:127.0.0.1:${server.port}`], secret: SECRET },
      graceSecs: 600,
    };
    const { username = '', credential = '' } =
      mintIceServers(config, SESSION, Date.now()).iceServers[0] ?? {};
    return { username, credential };
  };
  const nowSecs = () => Math.floor(Date.now() / 1000);

  test.each([
    ['UDP', []],
    ['TCP', ['-t']],
  ])('relays over %s with minted credentials', async (_name, words) => {
    const { username, credential } = minted();
    expect(await relays(server, username, credential, words)).toBe(true);
  });

  test.each([
    ['expired', () => turnCredentials(SECRET, SESSION, nowSecs() - 1)],
    ['made with another secret', () => turnCredentials('another-secret-of-a-test', SESSION, nowSecs() + 600)],
    ['for a later expiry', () => ({ ...minted(), username: `${nowSecs() + 86_400}:${SESSION}` })],
    ['for another session', () => ({ ...minted(), username: minted().username.replace('0192', '0193') })],
  ])('refuses credentials that are %s', async (_name, made) => {
    const { username, credential } = made();
    expect(await relays(server, username, credential)).toBe(false);
    await expect.poll(() => server.log()).toContain(`Cannot find credentials of user <${username}>`);
  });
});

describe('the denied addresses of the shipped turnserver.conf', () => {
  const shipped = readFileSync(
    path.resolve(import.meta.dirname, '../../../deploy/coturn/turnserver.conf'),
    'utf8',
  );
  const denied = shipped.split('\n').filter((line) => line.startsWith('denied-peer-ip='));
  const loopback = 'denied-peer-ip=127.0.0.0-127.255.255.255';

  // The relays of this test have the address 127.0.0.1. Without its line, it is an address like a public one.
  test.each([
    ['keep the server from relaying to them', denied, false],
    ['let it relay to all others', denied.filter((line) => line !== loopback), true],
  ])('%s', async (_name, ranges, isRelayed) => {
    expect(denied).toContain(loopback);
    const lines = ['allow-loopback-peers', ...ranges];
    const server = await startTurnServer({ address: '127.0.0.1', secret: SECRET, lines });
    try {
      const { username, credential } = turnCredentials(SECRET, SESSION, Math.floor(Date.now() / 1000) + 600);
      expect(await relays(server, username, credential)).toBe(isRelayed);
      expect(server.log().includes('denied in the range')).toBe(!isRelayed);
    } finally {
      await server.stop();
    }
  });
});
