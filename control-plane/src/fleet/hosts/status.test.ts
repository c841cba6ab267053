import { describe, expect, test } from 'vitest';
import { decideHostStatus, type HostInput, type HostStanding } from './status.ts';

const at = (status: HostStanding['status'], drainIntent: boolean): HostStanding => ({ status, drainIntent });
const offline = at('offline', false);
const offlineDrained = at('offline', true);
const online = at('online', false);
const draining = at('draining', true);

describe('the host status machine', () => {
  test.each<[HostStanding, HostInput, HostStanding, string]>([
    [offline, 'register', online, 'an agent registers'],
    [offlineDrained, 'register', draining, 'the wish to drain survives the link'],
    [online, 'register', online, 'the same agent reconnects'],
    [draining, 'register', draining, 'a drained agent reconnects'],
    [online, 'link_lost', offline, 'the socket is gone'],
    [draining, 'link_lost', offlineDrained, 'the socket of a drained host is gone'],
    [offline, 'link_lost', offline, 'a late close'],
    [offlineDrained, 'link_lost', offlineDrained, 'a late close of a drained host'],
    [online, 'drain', draining, 'no new placements'],
    [draining, 'drain', draining, 'draining again'],
    [offline, 'drain', offlineDrained, 'only the intent changes'],
    [offlineDrained, 'drain', offlineDrained, 'draining again while away'],
    [draining, 'uncordon', online, 'back to service'],
    [online, 'uncordon', online, 'nothing to undo'],
    [offlineDrained, 'uncordon', offline, 'only the intent changes'],
    [offline, 'uncordon', offline, 'nothing to undo while away'],
  ])('%o + %s → %o: %s', (from, input, to) => {
    expect(decideHostStatus(from, input)).toEqual(to);
  });
});
