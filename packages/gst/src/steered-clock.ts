import { initialise } from './init.ts';
import { native } from './native.ts';
import { GstObject } from './object.ts';

const NS_PER_MS = 1e6;
/** Rates are given to GStreamer as a fraction with this denominator: steps of a millionth. */
const RATE_UNITS = 1_000_000;

/**
 * A clock that starts as the system's monotonic clock and can be made to run a little faster or slower, without a
 * jump. All elements of its pipeline wait by it. Owner: its creator; release() after the pipeline's dispose().
 * Source: GstClock, gst_clock_set_calibration.
 */
export class SteeredClock extends GstObject {
  /** The moment since which the rate holds, by the system's clock and by this one. */
  #since = { systemMs: 0, ownMs: 0 };
  #sinceNs = { systemNs: 0n, ownNs: 0n };
  #rateUnits = RATE_UNITS;

  constructor() {
    initialise();
    const type = native().gst_system_clock_get_type();
    super(native().gst_object_ref_sink(native().g_object_new_with_properties(type, 0, null, null)));
  }

  /** Runs at this rate from now on. @param rate 1: the system's */
  setRate(rate: number): void {
    const units = Math.round(rate * RATE_UNITS);
    if (units === this.#rateUnits) return;
    const systemNs = BigInt(native().gst_clock_get_internal_time(this.pointer));
    const elapsedNs = systemNs - this.#sinceNs.systemNs;
    const ownNs = this.#sinceNs.ownNs + (elapsedNs * BigInt(this.#rateUnits)) / BigInt(RATE_UNITS);
    this.#sinceNs = { systemNs, ownNs };
    this.#since = { systemMs: Number(systemNs) / NS_PER_MS, ownMs: Number(ownNs) / NS_PER_MS };
    this.#rateUnits = units;
    native().gst_clock_set_calibration(this.pointer, systemNs, ownNs, units, RATE_UNITS);
  }

  /** This clock's time at a time of the system's monotonic clock, milliseconds; exact since the newest rate. */
  fromMonotonicMs(monotonicMs: number): number {
    const { systemMs, ownMs } = this.#since;
    return ownMs + ((monotonicMs - systemMs) * this.#rateUnits) / RATE_UNITS;
  }

  /** The system's monotonic time at a time of this clock, milliseconds; exact since the newest rate. */
  toMonotonicMs(ownTimeMs: number): number {
    const { systemMs, ownMs } = this.#since;
    return systemMs + ((ownTimeMs - ownMs) * RATE_UNITS) / this.#rateUnits;
  }
}
