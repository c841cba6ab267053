import type { Table } from '../../translate.ts';

/** Runtime presets. */
export const presets: Table = {
  'Add a preset': 'Vorlage hinzufügen',
  'Add preset': 'Vorlage hinzufügen',
  'Only administrators see it.': 'Nur Administratoren sehen sie.',
  'Start settings of the apps': 'Wie die Apps starten',
  'For apps that do not name their own.': 'Für Apps ohne eigene Angabe.',
  Arguments: 'Argumente',
  'One per line. They are put before the app’s own.': 'Eines pro Zeile. Sie stehen vor denen der App.',
  'One NAME=value per line. If the app sets the same variable, its value is used.':
    'Ein NAME=Wert pro Zeile. Setzt die App dieselbe Variable, gilt ihr Wert.',
  Mounts: 'Eingehängte Ordner',
  'One per line, as /on/the/host:/in/the/app or with :ro at the end. The host may refuse each of them.':
    'Einer pro Zeile, als /auf/dem/host:/in/der/app oder mit :ro am Ende. Der Host kann jeden davon ablehnen.',
  'Its apps keep a home of their own for each person': 'Ihre Apps haben für jede Person ein eigenes Home',
  'An app with another path overrides this.': 'Eine App mit einem anderen Pfad hat Vorrang.',
  'The host’s default': 'Vorgabe des Hosts',
  'Bridge: connected to the networks of the host': 'Bridge: mit den Netzen des Hosts verbunden',
  'Give the preset a name': 'Gib der Vorlage einen Namen',
  'A change applies to sessions that start later, not to running ones.':
    'Eine Änderung gilt für Sitzungen, die später starten, nicht für laufende.',
  'no app': 'keine App',
  Changed: 'Geändert',
  'No app uses it. Running sessions continue.': 'Keine App benutzt sie. Laufende Sitzungen laufen weiter.',
  '{n} apps use it. Choose another preset for every app first, also for disabled apps.': {
    one: '{n} App benutzt sie. Wähle zuerst für jede App eine andere Vorlage, auch für deaktivierte.',
    other: '{n} Apps benutzen sie. Wähle zuerst für jede App eine andere Vorlage, auch für deaktivierte.',
  },
  'Common values of several apps. The app’s own fields override them.':
    'Gemeinsame Werte mehrerer Apps. Die eigenen Felder der App haben Vorrang.',
  'No presets yet': 'Noch keine Vorlagen',
  'A preset stores values that several apps share: an image, arguments, variables, mounts, a home.':
    'Eine Vorlage enthält Werte, die mehrere Apps gemeinsam haben: Image, Argumente, Variablen, eingehängte Ordner, Home.',
};
