/** Applies each control message of the host to the page. */
import type { AgentControl, ControlBye } from '@footlight/protocol/input';
import type { Emitter } from '../events.ts';
import type { ClipboardBridge } from '../input/clipboard.ts';
import type { Controls } from '../input/controls.ts';
import type { ControlChannel } from './control-channel.ts';
import type { CursorShapes } from './cursor.ts';

export interface ControlTargets {
  emitter: Emitter;
  control: Pick<ControlChannel, 'greeted'>;
  cursor: CursorShapes;
  clipboard: ClipboardBridge;
  controls: Controls;
  /** the host's hello has arrived */
  onGreeted(): void;
  onBye(reason: ControlBye['reason']): void;
}

export function applyControl(message: AgentControl, targets: ControlTargets): void {
  const { emitter, cursor, clipboard, controls } = targets;
  switch (message.type) {
    case 'hello':
      controls.greeted(message);
      targets.control.greeted(message);
      targets.onGreeted();
      // A host without this feature reports no layout, so the event reports null.
      if (!message.features.includes('keyboard_layout')) emitter.emit('keyboard_layout', null);
      return;
    case 'clipboard':
      void clipboard.fromSession(message.text).then((written) => {
        emitter.emit('clipboard', { text: message.text, written });
      });
      return;
    case 'cursor':
      cursor.define(message);
      return;
    case 'cursor_use':
      cursor.use(message);
      return;
    case 'pointer_mode':
      controls.setPointerMode(message);
      return;
    case 'display':
      emitter.emit('display', message);
      return;
    case 'app':
      emitter.emit('app', message.state);
      return;
    case 'keyboard_layout':
      emitter.emit('keyboard_layout', { layout: message.layout, variant: message.variant });
      return;
    case 'windows':
      emitter.emit('windows', message.windows);
      return;
    case 'guests':
      emitter.emit('guests', message.guests);
      return;
    case 'owner':
      emitter.emit('owner', message.watches);
      return;
    case 'notice':
      emitter.emit('notice', { code: message.code, text: message.text });
      return;
    case 'error':
      emitter.emit('notice', { code: message.code, text: message.message });
      return;
    case 'bye':
      targets.onBye(message.reason);
  }
}
