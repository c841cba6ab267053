/**
 * One connection test: reads an order from its channel, answers once, echoes messages of the browser, and exits when
 * the connection has ended. The agent limits its time. It does not outlive the agent, because it exits when its channel
 * closes.
 */
import { exitNow } from '@footlight/gst';
import { systemClock } from '@footlight/platform';
import * as datachannel from 'node-datachannel';
import { createLocalNameResolver } from '../media/webrtc/mdns.ts';
import { openParentChannel } from '../media/worker/child-entry.ts';
import { dropRights } from '../runtime/confinement/drop-rights.ts';
import { preflightOrder } from './preflight-messages.ts';
import { PreflightPeer } from './preflight-peer.ts';

const channel = openParentChannel({
  onMessage: (raw) => {
    const order = preflightOrder.parse(raw);
    datachannel.preload();
    // A browser may exploit this process, so it loses the agent's rights before it reads an offer.
    dropRights();
    const peer = new PreflightPeer(order, {
      clock: systemClock,
      resolver: createLocalNameResolver(systemClock),
      onOutcome: (outcome) => channel.send(outcome, () => outcome.type === 'refused' && exitNow(0)),
      onEnded: () => exitNow(0),
    });
    peer.start();
  },
  onBroken: () => undefined,
  // exitNow() is used, because native threads of the WebRTC library can block an ordinary exit forever.
  onClosed: () => exitNow(0),
});
