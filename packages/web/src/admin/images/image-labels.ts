import type { CatalogImage } from '@footlight/protocol/rest';
import type { Tone } from '../../components/state-chip.tsx';
import { msg, plural, t } from '../../i18n/translate.ts';

/** What the server says without a chosen catalog (control-plane/src/images/registry/catalog-source.ts). */
export const SYNC_SENTENCES = [msg('No catalog is configured: SERVICE_IMAGE_CATALOG_REPO is not set.')];

type OnHost = CatalogImage['hosts'][number];

/** Counts of an image's states on the hosts. */
export interface Presence {
  ready: OnHost[];
  busy: OnHost[];
  failed: OnHost[];
  /** Bytes on the disks of all hosts that reported a size. */
  bytes: number;
  /** Bytes on the disk of one host: the largest size that a host reported, because hosts can have other versions. */
  hostBytes: number;
}

export function presenceOf({ hosts }: Pick<CatalogImage, 'hosts'>): Presence {
  return {
    ready: hosts.filter(({ state }) => state === 'ready'),
    busy: hosts.filter(({ state }) => state === 'pulling' || state === 'building'),
    failed: hosts.filter(({ state }) => state === 'failed'),
    bytes: hosts.reduce((sum, host) => sum + (host.bytes ?? 0), 0),
    hostBytes: Math.max(0, ...hosts.map((host) => host.bytes ?? 0)),
  };
}

/** Label of an image in the list. The worst state on any host decides. Pure. */
export function imageState(image: CatalogImage): readonly [Tone, string] {
  if (!image.installed) return ['neutral', t('Not installed')];
  const { busy, failed } = presenceOf(image);
  if (failed.length > 0)
    return ['danger', plural(failed.length, 'Failed on {n} host', 'Failed on {n} hosts')];
  if (busy.length > 0) return ['info', plural(busy.length, 'Fetching on {n} host', 'Fetching on {n} hosts')];
  if (image.update_available)
    return ['warning', image.pinned ? t('Update available, pinned') : t('Update available')];
  return ['success', image.pinned ? t('Installed, pinned') : t('Installed')];
}

/** On how many hosts an installed image is: "2 of 3 hosts". */
export function presenceLabel(image: CatalogImage): string {
  if (!image.installed) return '–';
  const { ready, busy } = presenceOf(image);
  const percent = busy.map((host) => host.progress_pct).filter((pct) => pct !== null);
  const hosts = image.hosts.length;
  return percent.length === 0
    ? plural(hosts, '{ready} of {n} host', '{ready} of {n} hosts', { ready: ready.length })
    : plural(hosts, '{ready} of {n} host, {percent} %', '{ready} of {n} hosts, {percent} %', {
        ready: ready.length,
        percent: Math.min(...percent),
      });
}

const ON_HOST: Readonly<Record<OnHost['state'], readonly [Tone, string]>> = {
  absent: ['neutral', msg('Not there')],
  pulling: ['info', msg('Pulling')],
  building: ['info', msg('Building')],
  ready: ['success', msg('Ready')],
  failed: ['danger', msg('Failed')],
};

/** The state of an image on a host, for its chip. */
export function onHostState({ state }: Pick<OnHost, 'state'>): readonly [Tone, string] {
  const [tone, label] = ON_HOST[state];
  return [tone, t(label)];
}

/** Whether a pull or a build of any image is in progress. */
export const isAdvancing = (images: readonly CatalogImage[] | undefined): boolean =>
  images?.some((image) => presenceOf(image).busy.length > 0) ?? false;
