import type { StreamClientOptions, StreamEventName, StreamEvents, StreamListener } from './types.ts';

/**
 * Typed listeners of one client. An exception in a page's listener does not stop the stream. The client owns the
 * emitter and clears it last; the function that on() returns removes one listener.
 */
export class Emitter {
  #listeners = new Map<StreamEventName, Set<(event: never) => void>>();

  on<Name extends StreamEventName>(name: Name, listener: StreamListener<Name>): () => void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set);
    set.add(listener as (event: never) => void);
    return () => set.delete(listener as (event: never) => void);
  }

  /** Adds the listeners of the options. */
  subscribe(options: StreamClientOptions): void {
    const { onState, onStats, onTrace, onClock, onAudio, onInput, onClipboard, onFirstFrame } = options;
    if (onState) this.on('state', onState);
    if (onStats) this.on('stats', onStats);
    if (onTrace) this.on('trace', onTrace);
    if (onClock) this.on('clock', onClock);
    if (onAudio) this.on('audio', onAudio);
    if (onInput) this.on('input', onInput);
    if (onClipboard) this.on('clipboard', onClipboard);
    if (onFirstFrame) this.on('first_frame', onFirstFrame);
  }

  emit<Name extends StreamEventName>(name: Name, event: StreamEvents[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        (listener as StreamListener<Name>)(event);
      } catch (error) {
        reportError(error);
      }
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
