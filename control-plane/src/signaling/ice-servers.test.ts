import { describe, expect, test } from 'vitest';
import { mintIceServers, turnCredentials } from './ice-servers.ts';

const SECRET = 'a-turn-secret-of-24-chars';
const SESSION = '0192f1de-7a3b-7c54-9d0e-2a1b3c4d5e6f';
const STUN = { urls: ['stun:stun.example.org'] };
const TURN = { urls: ['turn:turn.example.org', 'turns:turn.example.org:443?transport=tcp'], secret: SECRET };

describe('TURN credentials', () => {
  test('are the expiry with the id, and their HMAC', () => {
    // The credential is the output of: printf USERNAME | openssl dgst -sha1 -hmac SECRET -binary | base64
    expect(turnCredentials(SECRET, SESSION, 1_783_036_800)).toEqual({
      username: `1783036800:${SESSION}`,
      credential: 'cjcO4UJpmtijWEES/igPG7zjcoc=',
    });
  });

  test('are valid for the grace of sessions, and come before the configured servers', () => {
    const config = { iceServers: [STUN], turn: TURN, graceSecs: 600 };
    expect(mintIceServers(config, SESSION, 1_783_036_200_999)).toEqual({
      iceServers: [
        { urls: TURN.urls, username: `1783036800:${SESSION}`, credential: 'cjcO4UJpmtijWEES/igPG7zjcoc=' },
        STUN,
      ],
      ttlSecs: 600,
    });
  });

  test('are missing without a TURN server', () => {
    expect(mintIceServers({ iceServers: [STUN], turn: null, graceSecs: 600 }, SESSION, 0)).toEqual({
      iceServers: [STUN],
      ttlSecs: null,
    });
  });
});
