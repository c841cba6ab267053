import { randomUUID } from 'node:crypto';
import type { ControlSignaling } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import type { ParentMessage } from '../../media/worker/worker-messages.ts';
import { SignalingRelay, SignalingRelays } from './signaling-relay.ts';

const session_id = randomUUID();
const attach = (conn: number, guest?: { id: string; name: string }): ControlSignaling => ({
  type: 'signaling',
  session_id,
  conn,
  msg: {
    type: 'attach',
    client_id: randomUUID(),
    hello: { type: 'hello', protocol: 1, client_id: randomUUID(), client: { kind: 'browser' }, codecs: [] },
    ice_servers: [],
    ...(guest && { guest }),
  },
});
const bye = (conn: number): ControlSignaling => ({
  type: 'signaling',
  session_id,
  conn,
  msg: { type: 'bye' },
});

describe('signaling on its way to the worker', () => {
  function relay() {
    const sent: ParentMessage[] = [];
    return { sent, relay: new SignalingRelay((message) => sent.push(message)) };
  }

  test('waits for the worker, and only for the newest socket', () => {
    const { sent, relay: it } = relay();
    it.deliver(attach(5));
    it.deliver(bye(5));
    it.deliver(attach(7));
    expect(sent).toEqual([]);
    it.open();
    expect(sent.map((message) => [message.type, 'conn' in message && message.conn])).toEqual([['attach', 7]]);
  });

  test('drops messages of an older socket, and sends one detach', () => {
    const { sent, relay: it } = relay();
    it.open();
    it.deliver(attach(7));
    it.deliver(bye(6));
    it.deliver({ type: 'signaling', session_id, conn: 6, msg: { type: 'detach', reason: 'closed' } });
    it.deliver(attach(6));
    expect(sent).toHaveLength(1);
    it.linkLost();
    it.linkLost();
    expect(sent.map(({ type }) => type)).toEqual(['attach', 'detach']);
  });

  test('accepts lower numbers over a new link: the control plane’s clock may have been set back', () => {
    const { sent, relay: it } = relay();
    it.open();
    it.deliver(attach(1_000));
    it.linkLost();
    it.deliver(attach(7));
    expect(sent.map((message) => 'conn' in message && message.conn)).toEqual([1_000, 1_000, 7]);
  });

  test('queues a limited number of messages', () => {
    const { sent, relay: it } = relay();
    it.deliver(attach(1));
    for (let count = 0; count < 1_000; count++) it.deliver(bye(1));
    it.open();
    expect(sent.length).toBeLessThanOrEqual(80);
  });
});

describe('signaling of guests', () => {
  const ada = { id: randomUUID(), name: 'Ada' };

  function open() {
    const sent: ParentMessage[] = [];
    const relays = new SignalingRelays((message) => sent.push(message));
    relays.open();
    return { relays, conns: () => sent.map((message) => [message.type, 'conn' in message && message.conn]) };
  }

  test('a guest does not replace the socket of the owner, nor the owner the socket of a guest', () => {
    const { relays, conns } = open();
    relays.deliver(attach(1));
    relays.deliver(attach(3, ada));
    relays.deliver(bye(1));
    relays.deliver(attach(4));
    relays.deliver(bye(3));
    expect(conns()).toEqual([
      ['attach', 1],
      ['attach', 3],
      ['signal', 1],
      ['attach', 4],
      ['signal', 3],
    ]);
  });

  test('messages of a removed guest are dropped', () => {
    const { relays, conns } = open();
    relays.deliver(attach(1));
    relays.deliver(attach(3, ada));
    relays.keepGuests(new Set());
    relays.deliver(bye(3));
    expect(conns()).toHaveLength(2);
  });

  test('remembers a limited number of guests', () => {
    const { relays, conns } = open();
    for (let conn = 0; conn < 100; conn++) relays.deliver(attach(conn, { id: randomUUID(), name: 'x' }));
    expect(conns()).toHaveLength(8);
  });
});
