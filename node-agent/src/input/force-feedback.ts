import { RUMBLE_MAX_MS } from '@footlight/protocol/input';
import type { RumbleEffect } from './uinput-layout.ts';

/** Strengths for the two motors of a gamepad. */
export interface RumbleOrder {
  /** 0–65535 */
  strong: number;
  weak: number;
  /** 0: stop both motors. */
  durationMs: number;
}

interface Playing {
  fromMs: number;
  untilMs: number;
}

const FULL_GAIN = 0xffff;
/** An order that continues is renewed this long before its end. */
const RENEW_MS = 500;

/**
 * Combines the effects of an app into orders for the gamepad's two motors, by adding the strengths. Pure. An order
 * lasts at most RUMBLE_MAX_MS, so that a gamepad stops if its host fails.
 */
export class EffectMixer {
  readonly #effects = new Map<number, RumbleEffect>();
  readonly #playing = new Map<number, Playing>();
  #gain = FULL_GAIN;
  #ordered = { strong: 0, weak: 0, untilMs: Number.NEGATIVE_INFINITY };

  upload(id: number, effect: RumbleEffect): void {
    this.#effects.set(id, effect);
  }

  erase(id: number): void {
    this.#effects.delete(id);
    this.#playing.delete(id);
  }

  /** @param times number of repeats; 0 stops the effect */
  play(id: number, times: number, nowMs: number): void {
    const effect = this.#effects.get(id);
    this.#playing.delete(id);
    if (!effect || times <= 0) return;
    const fromMs = nowMs + effect.delayMs;
    const untilMs = effect.lengthMs === 0 ? Number.POSITIVE_INFINITY : fromMs + effect.lengthMs * times;
    this.#playing.set(id, { fromMs, untilMs });
  }

  /** @param gain 0-65535, applies to all effects */
  setGain(gain: number): void {
    this.#gain = Math.min(FULL_GAIN, Math.max(0, gain));
  }

  /** The next order; null: the last order still applies. */
  order(nowMs: number): RumbleOrder | null {
    const { strong, weak, untilMs } = this.#mix(nowMs);
    const last = this.#ordered;
    const isSame = strong === last.strong && weak === last.weak;
    if (strong === 0 && weak === 0) {
      if (isSame) return null;
      this.#ordered = { strong, weak, untilMs: nowMs };
      return { strong, weak, durationMs: 0 };
    }
    const coveredMs = Math.min(untilMs, nowMs + RUMBLE_MAX_MS);
    if (isSame && (coveredMs <= last.untilMs || nowMs < last.untilMs - RENEW_MS)) return null;
    this.#ordered = { strong, weak, untilMs: coveredMs };
    return { strong, weak, durationMs: Math.max(1, Math.round(coveredMs - nowMs)) };
  }

  #mix(nowMs: number): { strong: number; weak: number; untilMs: number } {
    let [strong, weak, untilMs] = [0, 0, nowMs];
    for (const [id, playing] of this.#playing) {
      const effect = this.#effects.get(id);
      if (!effect || nowMs >= playing.untilMs) this.#playing.delete(id);
      else if (nowMs >= playing.fromMs) {
        strong += effect.strong;
        weak += effect.weak;
        untilMs = Math.max(untilMs, playing.untilMs);
      }
    }
    const scaled = (sum: number) => Math.min(0xffff, Math.round((sum * this.#gain) / FULL_GAIN));
    return { strong: scaled(strong), weak: scaled(weak), untilMs };
  }
}
