/** The keyboard layouts that an account stores for its devices, in the settings of the web client. */
import type { KeyboardLayout } from '@footlight/protocol/input';
import type { UiPreferences } from '@footlight/protocol/rest';
import { deviceKey } from '../api/auth-store.ts';
import { call } from '../api/client.ts';

/** Member of the settings: device key → layout. */
const MEMBER = 'keyboard_layouts';
/** Largest number of stored devices. A further device replaces the one whose choice is oldest. */
const MAX_DEVICES = 32;

/** The layout that the person chose on this device; null: no choice, so the detected layout is used. */
export function keptLayout(settings: Readonly<Record<string, unknown>>): KeyboardLayout | null {
  return readLayouts(settings).get(deviceKey()) ?? null;
}

/**
 * Stores a choice for this device.
 * @param layout null: removes the choice, so that the detected layout is used again
 * @returns the new settings
 */
export async function keepLayout(layout: KeyboardLayout | null): Promise<UiPreferences> {
  // Reads the settings again, because another device may have stored its choice in the meantime.
  const layouts = readLayouts(await call('uiPreferences.read', {}));
  const body = { [MEMBER]: Object.fromEntries(changed(layouts, deviceKey(), layout)) };
  return call('uiPreferences.update', { body });
}

/** Layouts by device key, the newest last. Entries with an unexpected form are omitted. */
export function readLayouts(settings: Readonly<Record<string, unknown>>): Map<string, KeyboardLayout> {
  const stored = settings[MEMBER];
  const entries = typeof stored === 'object' && stored !== null ? Object.entries(stored) : [];
  return new Map(
    entries.flatMap(([device, value]: [string, unknown]): [string, KeyboardLayout][] => {
      if (typeof value !== 'object' || value === null) return [];
      const { layout, variant } = value as Record<string, unknown>;
      if (typeof layout !== 'string' || (typeof variant !== 'string' && variant !== null)) return [];
      return [[device, { layout, variant }]];
    }),
  );
}

/** The layouts after a choice on one device. */
export function changed(
  layouts: ReadonlyMap<string, KeyboardLayout>,
  device: string,
  layout: KeyboardLayout | null,
): [string, KeyboardLayout][] {
  const others = [...layouts].filter(([key]) => key !== device);
  return layout === null ? others : [...others.slice(1 - MAX_DEVICES), [device, layout]];
}
