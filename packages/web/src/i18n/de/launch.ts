import type { Table } from '../translate.ts';

/** The launch of an app, up to its picture. */
export const launch: Table = {
  'Starting {app}': '{app} startet',
  'Finding a machine': 'Rechner suchen',
  'Waiting for your last session to release its files':
    'Warten, bis deine letzte Sitzung ihre Dateien freigibt',
  'Preparing your files': 'Deine Dateien vorbereiten',
  'Fetching the app': 'App laden',
  'Fetching the app, {percent} %': 'App laden, {percent} %',
  'Starting the display': 'Bildschirm starten',
  'Starting the app': 'App starten',
  'Starting the picture': 'Bild starten',
  'Waiting for the app to draw': 'Warten, bis die App etwas zeigt',
  'Connecting to the picture': 'Mit dem Bild verbinden',
  'usually {time}': 'meist {time}',
  'The app has drawn one plain colour so far. It may still be starting.':
    'Die App zeigt bisher nur eine Farbe. Vielleicht startet sie noch.',
  'Show it': 'Zeigen',
};
