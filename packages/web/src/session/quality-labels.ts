import type { Quality, QualityCause } from '@footlight/stream-client';
import { localeTag, msg, t } from '../i18n/translate.ts';

/** The word for a quality, untranslated. */
export const QUALITY_LABELS: Readonly<Record<Quality['word'], string>> = {
  excellent: msg('Excellent'),
  good: msg('Good'),
  poor: msg('Poor'),
};

/** The cause of a lower quality, in a few words; "": no cause. */
export function causeLabel(cause: QualityCause | null): string {
  const ms = (value: number) => ({ ms: `${Math.round(value).toLocaleString(localeTag())} ms` });
  switch (cause?.kind) {
    case undefined:
      return '';
    case 'frozen':
      return t('the picture froze');
    case 'host_wait':
      return t('the host is busy: pictures wait there for {ms}', ms(cause.ms));
    case 'few_arrive':
      return t('only {n} of {wanted} frames a second arrive', { n: cause.arrived, wanted: cause.wanted });
    case 'few_frames':
      return t('{n} of {wanted} frames a second', { n: Math.round(cause.shown), wanted: cause.wanted });
    case 'loss':
      return t('{share} % of packets lost', {
        share: (cause.share * 100).toLocaleString(localeTag(), {
          minimumFractionDigits: 1,
          maximumFractionDigits: 1,
        }),
      });
    case 'network_delay':
      return t('network delay {ms}', ms(cause.ms));
    case 'network_jitter':
      return t('network jitter {ms}', ms(cause.ms));
    case 'buffer':
      return t('pictures wait here for {ms}', ms(cause.ms));
    case 'decoding':
      return t('this device decodes too slowly; a lower quality helps');
    case 'presenting':
      return t('this device shows the picture unevenly; other programs may keep it busy');
    case 'picture_delay':
      return t('pictures are {ms} old', ms(cause.ms));
  }
}
