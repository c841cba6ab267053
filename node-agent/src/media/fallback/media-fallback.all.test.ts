import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { silentLogger, systemClock } from '@footlight/platform';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MediaFallback } from './media-fallback.ts';
import { bindingRequest } from './testing/binding-request.ts';

const PWD = 'a-password-of-the-host-01';
const PATIENCE = { timeout: 60_000, interval: 100 };

let server: Server;
let port: number;
let logged: { event: string; fields: Record<string, unknown> }[];
let fallback: MediaFallback;

/** Takes the port, so that it is free when the server closes. */
beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  logged = [];
  const keep = (fields: object, event: string) => void logged.push({ event, fields: { ...fields } });
  fallback = new MediaFallback({
    clock: systemClock,
    logger: { ...silentLogger(), info: keep, warn: keep },
    random: { number: () => 0 },
    port,
    addresses: ['127.0.0.1'],
  });
});
afterEach(() => {
  fallback.close();
  server.close();
});

const events = () => logged.map(({ event }) => event);
const listening = (times: number) =>
  vi.waitFor(
    () => expect(events().filter((event) => event === 'media.fallback_listening')).toHaveLength(times),
    PATIENCE,
  );

describe('the process of the fallback port', () => {
  test('waits for a port that is taken, and says once what to do', async () => {
    fallback.start();
    await vi.waitFor(() => expect(events()).toEqual(['media.fallback_port_unusable']), PATIENCE);
    expect(logged[0]?.fields.remedy).toContain('SERVICE_MEDIA_FALLBACK_PORT');
    server.close();
    await listening(1);
    expect(events()).toEqual(['media.fallback_port_unusable', 'media.fallback_listening']);
  });

  test('when it is killed, it starts again with all connections; it has no rights', async () => {
    server.close();
    fallback.start();
    const host = createSocket('udp4').bind(0, '127.0.0.1');
    await once(host, 'listening');
    const withdraw = fallback.register({ ufrag: 'host', pwd: PWD, port: host.address().port });
    await listening(1);
    const pid = fallback.pid ?? 0;
    if (process.getuid?.() === 0)
      expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(
        /^Uid:\t65534\t65534[\s\S]*^Groups:\t *\n[\s\S]*^Seccomp:\t2$/m,
      );
    process.kill(pid, 'SIGKILL');
    await listening(2);
    const page = createSocket('udp4');
    page.send(bindingRequest({ username: 'host:page', pwd: PWD }), port, '127.0.0.1');
    await once(host, 'message');
    withdraw?.();
    for (const socket of [host, page]) socket.close();
  });
});
