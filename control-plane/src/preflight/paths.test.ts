import { NETWORK_PATHS } from '@footlight/protocol/telemetry';
import { expect, test } from 'vitest';
import { hostServers, planPaths } from './paths.ts';

const stun = { urls: ['stun:stun.example.org'] };
const turn = {
  urls: [
    'turn:turn.example.org:3478',
    'turn:turn.example.org:3478?transport=udp',
    'turn:turn.example.org:3478?transport=tcp',
    'turns:turn.example.org:443?transport=tcp',
    'turns:turn.example.org:5349',
    'turns:turn.example.org:5349?transport=udp',
  ],
  username: 'u',
  credential: 'c',
};

test('each path gets only the servers of its transport, with their credentials', () => {
  const planned = planPaths([turn, stun]);
  expect(planned.map(({ path }) => path)).toEqual(NETWORK_PATHS);
  expect(planned.map(({ missing }) => missing)).toEqual([null, null, null, null, null]);
  const credentials = { username: 'u', credential: 'c' };
  expect(planned.map(({ ice_servers }) => ice_servers)).toEqual([
    [stun],
    [],
    [{ urls: turn.urls.slice(0, 2), ...credentials }],
    [{ urls: turn.urls.slice(2, 3), ...credentials }],
    [{ urls: turn.urls.slice(3, 5), ...credentials }],
  ]);
});

test('a path without its server says what is missing', () => {
  expect(planPaths([stun]).map(({ missing }) => missing)).toEqual([
    null,
    null,
    'turn_server',
    'turn_server',
    'turn_server',
  ]);
});

test('the host gets a STUN server for each path, and a TURN server only for a test of a TURN server', () => {
  expect(NETWORK_PATHS.map((path) => hostServers(path, [turn, stun]))).toEqual([
    [stun],
    [stun],
    [turn, stun],
    [turn, stun],
    [turn, stun],
  ]);
});
