import type { CatalogImage } from '@footlight/protocol/rest';
import type { Tone } from '../../components/state-chip.tsx';
import { countLabel } from '../frame/quantity-labels.ts';

type OnHost = CatalogImage['hosts'][number];

/** Counts of an image's states on the hosts. */
export interface Presence {
  ready: OnHost[];
  busy: OnHost[];
  failed: OnHost[];
  /** Bytes on the disks of all hosts that reported a size. */
  bytes: number;
}

export function presenceOf({ hosts }: Pick<CatalogImage, 'hosts'>): Presence {
  return {
    ready: hosts.filter(({ state }) => state === 'ready'),
    busy: hosts.filter(({ state }) => state === 'pulling' || state === 'building'),
    failed: hosts.filter(({ state }) => state === 'failed'),
    bytes: hosts.reduce((sum, host) => sum + (host.bytes ?? 0), 0),
  };
}

/** Label of an image in the list. The worst state on any host decides. Pure. */
export function imageState(image: CatalogImage): readonly [Tone, string] {
  if (!image.installed) return ['neutral', 'Not installed'];
  const { busy, failed } = presenceOf(image);
  if (failed.length > 0) return ['danger', `Failed on ${countLabel(failed.length, 'host')}`];
  if (busy.length > 0) return ['info', `Fetching on ${countLabel(busy.length, 'host')}`];
  if (image.update_available) return ['warning', image.pinned ? 'Newer one, pinned' : 'Newer one'];
  return ['success', image.pinned ? 'Installed, pinned' : 'Installed'];
}

/** On how many hosts an image is: "2 of 3 hosts". */
export function presenceLabel(image: CatalogImage): string {
  if (!image.installed) return '';
  const { ready, busy } = presenceOf(image);
  const percent = busy.map((host) => host.progress_pct).filter((pct) => pct !== null);
  const slowest = percent.length === 0 ? '' : `, ${Math.min(...percent)} %`;
  return `${ready.length} of ${countLabel(image.hosts.length, 'host')}${slowest}`;
}

const ON_HOST: Readonly<Record<OnHost['state'], readonly [Tone, string]>> = {
  absent: ['neutral', 'Not there'],
  pulling: ['info', 'Pulling'],
  building: ['info', 'Building'],
  ready: ['success', 'Ready'],
  failed: ['danger', 'Failed'],
};

/** The state of an image on a host, for its chip. */
export const onHostState = ({ state }: Pick<OnHost, 'state'>): readonly [Tone, string] => ON_HOST[state];

/** Whether a pull or a build of any image is in progress. */
export const isAdvancing = (images: readonly CatalogImage[] | undefined): boolean =>
  images?.some((image) => presenceOf(image).busy.length > 0) ?? false;
