/** Merges host settings from the environment and from the control plane's overrides. */
import { isKnobValue, KNOBS, type KnobValue, knobExpectation } from '@footlight/protocol/agent';

export type KnobValues = ReadonlyMap<string, KnobValue>;

/**
 * Overlays the baseline with the control plane's overrides.
 *
 * Pure. Unknown keys are ignored; a bad value keeps the baseline and is listed in `rejected`.
 */
export function overlayKnobs(
  baseline: KnobValues,
  overrides: Readonly<Record<string, unknown>>,
): { values: Map<string, KnobValue>; rejected: string[] } {
  const values = new Map(baseline);
  const rejected: string[] = [];
  for (const knob of KNOBS) {
    if (!Object.hasOwn(overrides, knob.key)) continue;
    const value = overrides[knob.key];
    if (isKnobValue(knob, value)) values.set(knob.key, value);
    else rejected.push(`${knob.key}: expected ${knobExpectation(knob)}`);
  }
  return { values, rejected };
}

/** Defaults overlaid with values of the environment. */
export function knobBaseline(fromEnvironment: Readonly<Record<string, KnobValue>>): Map<string, KnobValue> {
  return new Map(
    KNOBS.map((knob) => [
      knob.key,
      Object.hasOwn(fromEnvironment, knob.key) ? (fromEnvironment[knob.key] as KnobValue) : knob.default,
    ]),
  );
}

/**
 * The rate control mode in force: abr_mode if the environment or an override sets it, else off while abr_enabled is
 * false.
 */
export function rateModeInForce(
  values: KnobValues,
  fromEnvironment: Readonly<Record<string, KnobValue>>,
  overrides: Readonly<Record<string, unknown>>,
): KnobValue {
  const mode = values.get('abr_mode') ?? null;
  // A refused override does not count.
  const isSet = Object.hasOwn(fromEnvironment, 'abr_mode') || overrides.abr_mode === mode;
  return isSet || values.get('abr_enabled') !== false ? mode : 'off';
}
