import type { LadderSettings } from './rate-settings.ts';

/**
 * Limits of the encode time (95th percentile), as shares of the frame time. At 0.9 the next slow frame would be late.
 * Because of the gap between the two shares, a step is not reversed at once. Chosen, not measured.
 */
const EFFORT_ENGAGE = 0.9;
const EFFORT_RECOVER = 0.7;
/**
 * The order `hybrid` first reduces the size, but not below this number of lines, and then the frame rate, because text
 * is readable at full HD.
 */
const HYBRID_LINES = 1080;

export interface LadderFacts {
  width: number;
  height: number;
  fps: number;
  launchKbps: number;
  /** Sizes of the stream, the launch size first. */
  rungs: readonly (readonly [number, number])[];
  /** Number of steps by which this encoder can be made faster. */
  effortSteps: number;
}

export interface LadderLevel {
  width: number;
  height: number;
  fps: number;
  /** Number of effort steps by which the encoder was made faster. */
  speedBias: number;
  /** Index of the size; 0: the launch size. */
  sizeRung: number;
}

export interface LadderWindow {
  /** 95th percentile of the encode times; null: no frame was encoded. */
  encodeP95Ms: number | null;
  setpointKbps: number;
  /** Whether a viewer or window requested the size, which the ladder then does not change. */
  pinned: boolean;
}

interface Picture {
  width: number;
  height: number;
  sizeRung: number;
  halved: boolean;
}

/**
 * Reduces encoder effort, picture size and frame rate, in addition to the bitrate. Pure. Called once per second of
 * encoding, and once per cliff (a sudden fall of the network's rate).
 *
 * Size and frame rate share one list of steps in the configured order; recovery uses the reverse order. Effort has its
 * own number of steps. Source: docs/media.md, "Rate control".
 */
export class Ladder {
  readonly #settings: LadderSettings;
  readonly #facts: LadderFacts;
  /** All pictures, from the launch picture to the smallest. */
  readonly #steps: readonly Picture[];
  #at = 0;
  #speedBias = 0;
  #slowWindows = 0;
  #fastWindows = 0;
  #lowWindows = 0;
  #highWindows = 0;
  #steppedAtMs = Number.NEGATIVE_INFINITY;

  constructor(settings: LadderSettings, facts: LadderFacts) {
    this.#settings = settings;
    this.#facts = facts;
    this.#steps = planSteps(settings, facts);
  }

  get level(): LadderLevel {
    const { width, height, sizeRung, halved } = this.#picture;
    const fps = halved ? Math.max(1, Math.round(this.#facts.fps / 2)) : this.#facts.fps;
    return { width, height, sizeRung, fps, speedBias: this.#speedBias };
  }

  get isEncoderSlow(): boolean {
    return this.#slowWindows > 0 || this.#speedBias > 0;
  }

  /** Pixels in use divided by pixels at launch; 1 if the floor is fixed. */
  get floorShare(): number {
    if (!this.#settings.abr_ladder_floor_follows_rung) return 1;
    const { width, height } = this.#picture;
    return (width * height) / (this.#facts.width * this.#facts.height);
  }

  /** Called once a second. @returns whether the picture changed */
  window(facts: LadderWindow, nowMs: number): boolean {
    if (!this.#settings.abr_ladder) return false;
    const effort = this.#effort(facts.encodeP95Ms);
    return this.#sizeAndRate(facts, nowMs) || effort;
  }

  /** Takes all steps that are necessary after a cliff. @returns whether the picture changed */
  cliff(setpointKbps: number, pinned: boolean, nowMs: number): boolean {
    if (!this.#settings.abr_ladder) return false;
    const from = this.#at;
    while (this.#isTooMuch(setpointKbps) && this.#mayGo(this.#at + 1, pinned)) this.#at++;
    if (this.#at === from) return false;
    this.#settle(nowMs);
    return true;
  }

  get #picture(): Picture {
    // The list is never empty, because planSteps() always includes the launch picture.
    return this.#steps[this.#at] as Picture;
  }

  #effort(encodeP95Ms: number | null): boolean {
    const { abr_ladder_engage_dwell, abr_ladder_recover_dwell, abr_ladder_max_bias } = this.#settings;
    const frameMs = 1000 / this.level.fps;
    const slow = encodeP95Ms !== null && encodeP95Ms > EFFORT_ENGAGE * frameMs;
    const fast = encodeP95Ms !== null && encodeP95Ms < EFFORT_RECOVER * frameMs;
    this.#slowWindows = slow ? this.#slowWindows + 1 : 0;
    this.#fastWindows = fast ? this.#fastWindows + 1 : 0;
    const most = Math.min(abr_ladder_max_bias, this.#facts.effortSteps);
    if (this.#slowWindows >= abr_ladder_engage_dwell && this.#speedBias < most) {
      this.#speedBias++;
      this.#slowWindows = 0;
      return true;
    }
    if (this.#fastWindows >= abr_ladder_recover_dwell && this.#speedBias > 0) {
      this.#speedBias--;
      this.#fastWindows = 0;
      return true;
    }
    return false;
  }

  #sizeAndRate({ setpointKbps, pinned }: LadderWindow, nowMs: number): boolean {
    const s = this.#settings;
    this.#lowWindows = this.#isTooMuch(setpointKbps) ? this.#lowWindows + 1 : 0;
    this.#highWindows = this.#isRoomAbove(setpointKbps) ? this.#highWindows + 1 : 0;
    if (nowMs - this.#steppedAtMs < s.abr_ladder_res_min_step_s * 1000) return false;
    if (this.#lowWindows >= s.abr_ladder_res_engage_dwell && this.#mayGo(this.#at + 1, pinned)) this.#at++;
    else if (this.#highWindows >= s.abr_ladder_res_recover_dwell && this.#mayGo(this.#at - 1, pinned))
      this.#at--;
    else return false;
    this.#settle(nowMs);
    return true;
  }

  #settle(nowMs: number): void {
    this.#lowWindows = 0;
    this.#highWindows = 0;
    this.#steppedAtMs = nowMs;
  }

  #isTooMuch(setpointKbps: number): boolean {
    return setpointKbps < this.#settings.abr_ladder_res_engage_frac * this.#needKbps(this.#picture);
  }

  #isRoomAbove(setpointKbps: number): boolean {
    const above = this.#steps[this.#at - 1];
    return (
      above !== undefined && setpointKbps > this.#settings.abr_ladder_res_recover_frac * this.#needKbps(above)
    );
  }

  #mayGo(to: number, pinned: boolean): boolean {
    const target = this.#steps[to];
    return target !== undefined && (!pinned || target.sizeRung === this.#picture.sizeRung);
  }

  /** Bitrate that a size needs; the frame rate is ignored. */
  #needKbps({ width, height }: Picture): number {
    const share = (width * height) / (this.#facts.width * this.#facts.height);
    return this.#facts.launchKbps * share ** this.#settings.abr_ladder_res_exponent;
  }
}

/** Pictures in the order of reduction, from the launch picture on. */
function planSteps(settings: LadderSettings, facts: LadderFacts): Picture[] {
  const launch = { width: facts.width, height: facts.height, sizeRung: 0 };
  const smaller = settings.abr_ladder_resolution ? smallerSizes(settings, facts) : [];
  const sizes = [
    launch,
    ...smaller.map(([width, height], index) => ({ width, height, sizeRung: index + 1 })),
  ];
  // Number of sizes that are used before the frame rate is halved.
  const full = settings.abr_ladder_fps ? sizesBeforeRate(settings, sizes) : sizes.length;
  return [
    ...sizes.slice(0, full).map((size) => ({ ...size, halved: false })),
    ...(settings.abr_ladder_fps ? sizes.slice(full - 1).map((size) => ({ ...size, halved: true })) : []),
  ];
}

function smallerSizes(settings: LadderSettings, facts: LadderFacts): [number, number][] {
  return facts.rungs
    .filter(
      ([width, height]) =>
        width <= facts.width &&
        height <= facts.height &&
        width * height < facts.width * facts.height &&
        height >= settings.abr_ladder_res_min_height,
    )
    .map(([width, height]): [number, number] => [width, height])
    .sort((a, b) => b[0] * b[1] - a[0] * a[1]);
}

function sizesBeforeRate({ abr_ladder_order }: LadderSettings, sizes: readonly { height: number }[]): number {
  if (abr_ladder_order === 'res_first') return sizes.length;
  if (abr_ladder_order === 'fps_first') return 1;
  return Math.max(1, sizes.filter(({ height }) => height >= HYBRID_LINES).length);
}
