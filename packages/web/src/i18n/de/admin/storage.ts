import type { Table } from '../../translate.ts';

/** The homes. */
export const storage: Table = {
  Person: 'Person',
  'Last used': 'Zuletzt benutzt',
  'Being deleted': 'Wird gelöscht',
  '{files} will be deleted in a day': '{files} werden in einem Tag gelöscht',
  'What apps keep for people on the hosts: settings, saves, installed games.':
    'Was Apps für Personen auf den Hosts behalten: Einstellungen, Spielstände, installierte Spiele.',
  'all apps': 'alle Apps',
  'No such home': 'Kein solches Home',
  'No homes yet': 'Noch keine Homes',
  'Nothing matches the filter and the search text.': 'Nichts passt zum Filter und zum Suchtext.',
  'The first launch of an app that stores files creates a home.':
    'Der erste Start einer App, die Dateien speichert, legt ein Home an.',
  'Delete {files}?': '{files} löschen?',
  'Delete 1 home': '1 Home löschen',
  'Delete {size} of files': 'Dateien löschen ({size})',
  'Open the session that uses it': 'Sitzung öffnen, die es benutzt',
  'deleted app': 'gelöschte App',
  'deleted host': 'gelöschter Host',
  'Delete {files}': '{files} löschen',
  'Deleted at its host’s next check': 'Gelöscht bei der nächsten Prüfung seines Hosts',
  'Deleted {time}': 'Gelöscht {time}',
  'files of unknown size': 'Dateien unbekannter Größe',
  '{host} deletes {size} a day from now, for good. Nothing else of the person or the app changes.':
    '{host} löscht in einem Tag endgültig {size}. Sonst ändert sich für die Person und die App nichts.',
  'The host': 'Der Host',
  'Until then a launch of the app by {user} keeps everything.':
    'Startet {user} die App vorher, bleibt alles erhalten.',
  '{user}’s files of {app} on {host}': 'Dateien ({user}, {app}, {host})',
  unknown: 'unbekannt',
};
