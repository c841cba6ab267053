/**
 * Serves the fallback port of media for all sessions of a host. A separate process, because it handles packets of
 * strangers, and must neither slow down the agent nor end it. It gives up its rights as soon as it listens, and exits
 * when its channel closes.
 */
import { errorText, systemClock } from '@footlight/platform';
import { dropRights } from '../../runtime/confinement/drop-rights.ts';
import { openParentChannel } from '../worker/child-entry.ts';
import { type FallbackOrder, type FallbackReport, fallbackOrder, RETRY_MS } from './fallback-messages.ts';
import { Forwarder } from './forwarder.ts';

const forwarder = new Forwarder(systemClock);
const channel = openParentChannel({
  onMessage: (raw) => handle(fallbackOrder.parse(raw)),
  onBroken: () => process.exit(1),
  onClosed: () => process.exit(0),
});

function handle(order: FallbackOrder): void {
  if (order.type === 'listen') void listen(order);
  else if (order.type === 'register') forwarder.register(order);
  else forwarder.unregister(order.ufrag);
}

async function listen(order: Extract<FallbackOrder, { type: 'listen' }>): Promise<void> {
  try {
    await forwarder.listen(order);
  } catch (error) {
    report({ type: 'unusable', why: errorText(error, 512) });
    systemClock.setTimeout(() => void listen(order), RETRY_MS);
    return;
  }
  // After the port is open, because ports below 1024 need rights.
  dropRights();
  report({ type: 'listening' });
}

function report(message: FallbackReport): void {
  channel.send(message);
}
