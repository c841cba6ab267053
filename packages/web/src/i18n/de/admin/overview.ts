import type { Table } from '../../translate.ts';

/** The overview, with the findings. */
export const overview: Table = {
  'More hosts need attention': 'Weitere Hosts brauchen Aufmerksamkeit',
  'Every host is online and its checks pass, and no job fails.':
    'Jeder Host ist online und besteht seine Prüfungen, und kein Job schlägt fehl.',
  'For information': 'Zur Information',
  Problem: 'Problem',
  Warning: 'Warnung',
  remedy: 'Abhilfe',
  'Open host': 'Host öffnen',
  'Open job': 'Job öffnen',
  'Open image': 'Image öffnen',
  '{host} is offline': '{host} ist offline',
  'Its agent is not connected. Sessions on it continue while the service waits for it.':
    'Sein Agent ist nicht verbunden. Sitzungen darauf laufen weiter, solange der Dienst auf ihn wartet.',
  'Its hardware has not been reported.': 'Seine Hardware wurde noch nicht gemeldet.',
  'Every slot is taken': 'Alle Slots sind belegt',
  'The next launch is refused until a session ends.':
    'Der nächste Start wird abgelehnt, bis eine Sitzung endet.',
  'All is well': 'Alles in Ordnung',
  '{n} things to fix': { one: '{n} Problem zu beheben', other: '{n} Probleme zu beheben' },
  'No GPU reported': 'Keine GPU gemeldet',
  '{n} hosts': { one: '{n} Host', other: '{n} Hosts' },
  '{n} hosts more': { one: '{n} weiterer Host', other: '{n} weitere Hosts' },
  '{taken} of {n} slots taken': {
    one: '{taken} von {n} Slot belegt',
    other: '{taken} von {n} Slots belegt',
  },
  'Next: {job}, {time}': 'Als Nächstes: {job}, {time}',
  'due now': 'jetzt fällig',
  '{n} jobs without problems.': { one: '{n} Job ohne Probleme.', other: '{n} Jobs ohne Probleme.' },
  'No host yet': 'Noch kein Host',
  'Asking the hosts': 'Hosts werden gefragt',
  'Continue setup': 'Einrichtung fortsetzen',
  'Enroll a host': 'Host anmelden',
  'A host is a machine whose agent connects here. It appears here after it has enrolled.':
    'Ein Host ist ein Rechner, dessen Agent sich hier verbindet. Er erscheint hier, sobald er angemeldet ist.',
  'All sessions': 'Alle Sitzungen',
  'Nobody uses an app right now': 'Gerade benutzt niemand eine App',
  'Sessions appear here as soon as somebody launches one.':
    'Sitzungen erscheinen hier, sobald jemand eine startet.',
  'Failures of the last day': 'Fehler der letzten 24 Stunden',
  'All failures': 'Alle Fehler',
  'No session failed in the last day.': 'In den letzten 24 Stunden ist keine Sitzung fehlgeschlagen.',
  'The newest {shown} of {all}.': 'Die neuesten {shown} von {all}.',
  'All jobs': 'Alle Jobs',
  'All activity': 'Alle Aktivitäten',
  '{job} {failed}': '{job}: {failed}',
  '{image} is missing on {n} hosts': {
    one: '{image} fehlt auf {n} Host',
    other: '{image} fehlt auf {n} Hosts',
  },
  'no reason was reported': 'kein Grund gemeldet',
  '{image} {version} is available': '{image} {version} ist verfügbar',
  '{version} is in use.': '{version} ist in Gebrauch.',
  'An older version': 'Eine ältere Version',
};
