import { createSocket, Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ManualClock } from '@footlight/platform/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Forwarder } from './forwarder.ts';
import { FrameReader, framed } from './frames.ts';
import { LIMITS } from './path-limits.ts';
import { REPAIRED_PRIORITY } from './stun.ts';
import { bindingRequest } from './testing/binding-request.ts';

const PWD = 'a-password-of-the-host-01';
const REQUEST = bindingRequest({ username: 'host:page', pwd: PWD, tieBreaker: 7n });
const PATIENCE = { timeout: 60_000 };

let clock: ManualClock;
let forwarder: Forwarder;
let port: number;
/** Stands for the WebRTC connection of the host. */
let host: UdpSocket;
let heard: { packet: Buffer; port: number }[];
const open: { destroy?(): void; close?(): void }[] = [];

beforeEach(async () => {
  clock = new ManualClock();
  forwarder = new Forwarder(clock);
  port = await forwarder.listen({ port: 0, addresses: ['127.0.0.1'] });
  heard = [];
  host = await udpSocket();
  host.on('message', (packet, from) => heard.push({ packet, port: from.port }));
  forwarder.register({ ufrag: 'host', pwd: PWD, address: '127.0.0.1', port: host.address().port });
});
afterEach(() => {
  forwarder.close();
  for (const socket of open.splice(0)) (socket.destroy ?? socket.close)?.call(socket);
  expect(clock.pendingTimers).toBe(0);
});

async function udpSocket(): Promise<UdpSocket> {
  const socket = createSocket('udp4');
  open.push({ close: () => void socket.close() });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

async function tcpSocket(): Promise<{ socket: Socket; packets: Buffer[]; closed: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1');
  open.push(socket);
  const packets: Buffer[] = [];
  const reader = new FrameReader();
  socket.on('data', (chunk) => packets.push(...(reader.read(chunk) ?? [])));
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => void socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, packets, closed };
}

const heardPackets = (count: number) =>
  vi.waitFor(() => expect(heard).toHaveLength(count), PATIENCE).then(() => heard);

describe('a sender that proves the password of a connection', () => {
  test('by TCP: packets pass in both directions', async () => {
    const { socket, packets } = await tcpSocket();
    socket.write(Buffer.concat([framed(REQUEST), framed(Buffer.from('media'))]));
    const [first, second] = await heardPackets(2);
    expect(first?.packet).toEqual(REQUEST);
    expect(second?.packet.toString()).toBe('media');
    host.send('picture', first?.port);
    await vi.waitFor(() => expect(packets.map(String)).toEqual(['picture']), PATIENCE);
  });

  test('by UDP: packets pass in both directions', async () => {
    const page = await udpSocket();
    const received: string[] = [];
    page.on('message', (packet) => received.push(String(packet)));
    page.send(REQUEST, port, '127.0.0.1');
    const [first] = await heardPackets(1);
    page.send('media', port, '127.0.0.1');
    expect((await heardPackets(2))[1]?.packet.toString()).toBe('media');
    host.send('picture', first?.port);
    await vi.waitFor(() => expect(received).toEqual(['picture']), PATIENCE);
  });

  test('requests with the tie-breaker 0 arrive repaired, also later ones', async () => {
    const broken = bindingRequest({ username: 'host:page', pwd: PWD, tieBreaker: 0n });
    const { socket } = await tcpSocket();
    socket.write(Buffer.concat([framed(broken), framed(broken)]));
    const repaired = bindingRequest({
      username: 'host:page',
      pwd: PWD,
      tieBreaker: 1n,
      priority: REPAIRED_PRIORITY,
    });
    expect((await heardPackets(2)).map(({ packet }) => packet)).toEqual([repaired, repaired]);
  });

  test('is disconnected when the connection ends, and when it is silent', async () => {
    const [ended, silent] = [await tcpSocket(), await tcpSocket()];
    forwarder.register({ ufrag: 'other', pwd: PWD, address: '127.0.0.1', port: host.address().port });
    ended.socket.write(framed(REQUEST));
    silent.socket.write(framed(bindingRequest({ username: 'other:page', pwd: PWD })));
    await heardPackets(2);
    forwarder.unregister('host');
    await ended.closed;
    expect(forwarder.pathCount).toBe(1);
    clock.advance(LIMITS.idleMs);
    clock.advance(LIMITS.idleMs);
    await silent.closed;
    expect(forwarder.pathCount).toBe(0);
  });
});

describe('any other sender gets no answer and opens nothing', () => {
  test.each([
    ['an unknown connection', framed(bindingRequest({ username: 'guess:page', pwd: PWD }))],
    ['a wrong password', framed(bindingRequest({ username: 'host:page', pwd: 'wrong' }))],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['an empty packet', framed(Buffer.alloc(0))],
  ])('by TCP: %s', async (_what, bytes) => {
    const { socket, packets, closed } = await tcpSocket();
    socket.write(bytes);
    await closed;
    expect([packets, heard, forwarder.pathCount]).toEqual([[], [], 0]);
  });

  test('by TCP: silence is disconnected after 10 s', async () => {
    const { closed } = await tcpSocket();
    // A second connection that is answered, so that the first one was accepted before.
    const { socket } = await tcpSocket();
    socket.write(framed(REQUEST));
    await heardPackets(1);
    clock.advance(LIMITS.provenWithinMs);
    await closed;
    expect(forwarder.pathCount).toBe(1);
  });

  test('by TCP: one address may hold 32 silent connections', async () => {
    const silent = await Promise.all(Array.from({ length: LIMITS.unprovenPerAddress }, tcpSocket));
    const { closed } = await tcpSocket();
    await closed;
    silent[0]?.socket.write(framed(REQUEST));
    await heardPackets(1);
  });

  test('by UDP', async () => {
    const page = await udpSocket();
    for (const packet of ['hello', bindingRequest({ username: 'host:page', pwd: 'wrong' })])
      page.send(packet, port, '127.0.0.1');
    page.send(REQUEST, port, '127.0.0.1');
    expect((await heardPackets(1))[0]?.packet).toEqual(REQUEST);
  });
});

test('a port that is taken is an error that names it', async () => {
  const second = new Forwarder(clock);
  await expect(second.listen({ port, addresses: ['127.0.0.1'] })).rejects.toThrow(String(port));
  second.close();
});

test('a sender is disconnected when the host cannot reach its connection', async () => {
  // Linux refuses to connect a socket to the broadcast address.
  forwarder.register({ ufrag: 'gone', pwd: PWD, address: '255.255.255.255', port: 9 });
  const { socket, closed } = await tcpSocket();
  socket.write(framed(bindingRequest({ username: 'gone:page', pwd: PWD })));
  await closed;
  expect(forwarder.pathCount).toBe(0);
});

test('a free port is chosen again when its number is taken by UDP', async () => {
  const binding = vi.spyOn(UdpSocket.prototype, 'bind').mockImplementationOnce(function (this: UdpSocket) {
    process.nextTick(() => this.emit('error', new Error('bind EADDRINUSE 127.0.0.1')));
    return this;
  });
  const second = new Forwarder(clock);
  expect(await second.listen({ port: 0, addresses: ['127.0.0.1'] })).toBeGreaterThan(0);
  expect(binding).toHaveBeenCalledTimes(2);
  second.close();
  binding.mockRestore();
});
