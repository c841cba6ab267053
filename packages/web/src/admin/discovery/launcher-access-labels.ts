import type { Entitlement } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';

/** Who may use a launcher, according to its grants. */
export interface Access {
  /** The current choice; some: only individual accounts may use the launcher. */
  mode: 'all' | 'user' | 'none' | 'some';
  /** The grant for everybody; null: no such grant exists. */
  everybodyId: string | null;
  /** Number of accounts with their own grant. */
  singles: number;
  /** Whether the signed-in person has their own grant. */
  hasOwn: boolean;
}

type Grant = Pick<Entitlement, 'id' | 'subject_type' | 'subject_id'>;

/** Pure. @param me the signed-in account */
export function accessOf(grants: readonly Grant[], me: string | undefined): Access {
  const everybodyId = grants.find((grant) => grant.subject_type === 'all')?.id ?? null;
  const own = grants.filter((grant) => grant.subject_type === 'user');
  const hasOwn = own.some((grant) => grant.subject_id === me);
  const mode =
    everybodyId !== null ? 'all' : own.length === 0 ? 'none' : own.length === 1 && hasOwn ? 'user' : 'some';
  return { mode, everybodyId, singles: own.length, hasOwn };
}

/** Pure. */
export function accessLabel({ mode, singles }: Pick<Access, 'mode' | 'singles'>): string {
  switch (mode) {
    case 'all':
      return t('Everybody may use it.');
    case 'user':
      return t('You alone may use it.');
    case 'none':
      return t('Nobody may use it, administrators included.');
    case 'some':
      return plural(singles, '{n} person may use it.', '{n} people may use it.');
  }
}

/**
 * The number of people who lose a launcher when all of its grants are replaced. Pure.
 * @param byAll number of people who have the launcher only by the grant for everybody, including the signed-in person
 * @param keepsOwn whether the signed-in person keeps or gets the launcher
 */
export function lossLabel(access: Access, byAll: number, keepsOwn: boolean): string {
  const hasIt = access.hasOwn || access.everybodyId !== null;
  const people = byAll + access.singles - (keepsOwn && hasIt ? 1 : 0);
  if (people === 0) return t('Nobody loses it.');
  return plural(
    people,
    'It disappears from the library of {n} person. Running sessions continue.',
    'It disappears from the libraries of {n} people. Running sessions continue.',
  );
}
