import { MAX_ORIGINS, parseOriginList } from '@footlight/protocol/origins';
import { t } from '../../i18n/translate.ts';

/** The reason why the service would refuse these lines as its list of origins, for the field; null: it accepts them. */
export function originProblem(lines: readonly string[]): string | null {
  const list = parseOriginList(lines);
  if (list.kind === 'ok') return null;
  if (list.why === 'too_many') return t('At most {max} addresses', { max: MAX_ORIGINS });
  const line = lines[list.position - 1]?.trim() ?? '';
  return t(
    'Line {n}, “{line}”, is not an address such as https://play.example (http or https, a name, no path)',
    { n: list.position, line },
  );
}
