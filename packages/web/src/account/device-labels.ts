import type { Device } from '@footlight/protocol/rest';

import { t } from '../i18n/translate.ts';

/** A device's name: the owner's choice, otherwise browser and system. */
export function deviceLabel(device: Pick<Device, 'name' | 'capabilities' | 'device_key'>): string {
  if (device.name !== null && device.name.trim() !== '') return device.name;
  const { browser, platform } = device.capabilities;
  const made =
    typeof browser === 'object' && browser !== null && 'name' in browser ? browser.name : undefined;
  const known = [made, platform].filter((part): part is string => typeof part === 'string' && part !== '');
  return known.length > 0 ? known.join(t(' on ')) : t('Device {key}', { key: device.device_key.slice(0, 6) });
}
