import { decodeInput, type InputLane, type InputMessage } from '@footlight/protocol/input';
import type { Environment } from '../types.ts';
import { InputSender } from './sender.ts';

/** For tests: a sender whose open channels record all messages in order. */
export function recordingSender(
  environment: Pick<Environment, 'monotonicMs' | 'setTimeout'>,
  keep: (message: InputMessage) => void,
): InputSender {
  const channel = (lane: InputLane) =>
    ({
      readyState: 'open',
      bufferedAmount: 0,
      send: (data: Uint8Array) => {
        const decoded = decodeInput(data, lane);
        if (decoded.kind === 'message') keep(decoded.message);
      },
    }) as unknown as RTCDataChannel;
  const sender = new InputSender(environment, () => undefined);
  sender.attach({ input: channel('input'), motion: channel('motion') });
  return sender;
}
