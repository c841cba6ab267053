import type { Table } from '../translate.ts';

/** Refusals of the server, and other errors. */
export const errors: Table = {
  'Technical details': 'Technische Einzelheiten',
  'The server cannot be reached': 'Der Server ist nicht erreichbar',
  'Check your connection. The page loads again automatically. If you were saving something, check whether it was saved.':
    'Prüfe deine Verbindung. Die Seite lädt von selbst neu. Wenn du gerade etwas gespeichert hast, sieh nach, ob es gespeichert ist.',
  'You are signed out': 'Du bist abgemeldet',
  'Sign in again to go on.': 'Melde dich wieder an, um weiterzumachen.',
  'Email or password is wrong': 'E-Mail oder Passwort ist falsch',
  'Check both and try again.': 'Prüfe beides und versuche es noch einmal.',
  'You are not allowed to do this': 'Das darfst du nicht',
  'If you think that you need access, ask an administrator.':
    'Wenn du meinst, dass du Zugriff brauchst, frage einen Administrator.',
  'Registration is closed here': 'Die Registrierung ist hier geschlossen',
  'Ask the person who runs this instance for an account.':
    'Bitte die Person, die diese Instanz betreibt, um ein Konto.',
  'This invite code cannot be used': 'Dieser Einladungscode ist nicht verwendbar',
  'It may have expired or been used already. Ask for a new one.':
    'Er ist abgelaufen oder schon benutzt. Bitte um einen neuen.',
  'This instance was claimed already': 'Diese Instanz ist schon übernommen',
  'Sign in with the administrator account.': 'Melde dich mit dem Konto des Administrators an.',
  'It is not here any more': 'Es ist nicht mehr da',
  'It may have been removed meanwhile. Go back and look again.':
    'Es wurde inzwischen vielleicht entfernt. Geh zurück und sieh noch einmal nach.',
  'You cannot have more apps open': 'Mehr Apps darfst du nicht offen haben',
  'End one of them, then launch this one.': 'Beende eine davon, dann starte diese.',
  'This app’s files are in use by another session':
    'Die Dateien dieser App sind in einer anderen Sitzung in Gebrauch',
  'Continue in that session, or end it first.': 'Mach dort weiter, oder beende sie zuerst.',
  'The launcher has not been started yet': 'Der Launcher wurde noch nicht gestartet',
  'Start the launcher of this app once, then try again.':
    'Starte den Launcher dieser App einmal, dann versuche es noch einmal.',
  'The app cannot be changed now': 'Die App lässt sich gerade nicht wechseln',
  'It may be starting, ending or changing already. Try again in a moment.':
    'Vielleicht startet, endet oder wechselt sie gerade. Versuche es gleich noch einmal.',
  'That app needs more capacity than this session has':
    'Diese App braucht mehr Leistung, als diese Sitzung hat',
  'End this session, then launch the app in a new session.':
    'Beende diese Sitzung und starte die App in einer neuen Sitzung.',
  'The launcher of this app is switched off': 'Der Launcher dieser App ist ausgeschaltet',
  'An administrator can switch it on again.': 'Ein Administrator kann ihn wieder einschalten.',
  'That quality does not suit this device or connection':
    'Diese Qualität passt nicht zu diesem Gerät oder dieser Verbindung',
  'Choose another one and try again.': 'Wähle eine andere und versuche es noch einmal.',
  'This app is not offered in that quality': 'Diese App gibt es nicht in dieser Qualität',
  'No machine can run this app right now': 'Gerade kann kein Rechner diese App ausführen',
  'Ask an administrator to look at the hosts, or try again later.':
    'Bitte einen Administrator, nach den Hosts zu sehen, oder versuche es später.',
  'Every machine is busy': 'Alle Rechner sind belegt',
  'A place becomes free when somebody ends a session. Try again in a moment.':
    'Ein Platz wird frei, sobald jemand eine Sitzung beendet. Versuche es gleich noch einmal.',
  'The machine is not connected': 'Der Rechner ist nicht verbunden',
  'It reconnects automatically when it can. Try again shortly.':
    'Er verbindet sich von selbst wieder. Versuche es bald noch einmal.',
  'The host still runs sessions': 'Auf dem Host laufen noch Sitzungen',
  'Confirm that these sessions end, then try again.':
    'Bestätige, dass diese Sitzungen enden, dann versuche es noch einmal.',
  'Too many attempts': 'Zu viele Versuche',
  'Wait a moment, then try again.': 'Warte kurz, dann versuche es noch einmal.',
  'This page is out of date': 'Diese Seite ist veraltet',
  'Reload it to get the current version.': 'Lade sie neu, um die aktuelle Fassung zu bekommen.',
  'This needs the secure address': 'Das braucht die sichere Adresse',
  'Open the page with https.': 'Öffne die Seite mit https.',
  'Library discovery is switched off': 'Die Suche nach installierten Titeln ist ausgeschaltet',
  'Switch it on in the settings first.': 'Schalte sie zuerst in den Einstellungen ein.',
  'That was not accepted': 'Das wurde nicht angenommen',
  'Nothing was changed. Check what you entered.': 'Nichts wurde geändert. Prüfe deine Eingaben.',
  'This does not fit the current state': 'Das passt nicht zum jetzigen Stand',
  'Nothing was changed. Reload the page, check the current state, and try again.':
    'Nichts wurde geändert. Sieh noch einmal nach und versuche es erneut.',
  'That is too large': 'Das ist zu groß',
  'Nothing was changed. Try a smaller one.': 'Nichts wurde geändert. Versuche es mit etwas Kleinerem.',
  '{message} Ask an administrator.': '{message} Frage einen Administrator.',
  'This page had an error': 'Diese Seite ist gestolpert',
  'Your apps keep running. Reload the page; if it happens again, tell an administrator.':
    'Deine Apps laufen weiter. Lade die Seite neu; passiert es wieder, sag es einem Administrator.',
  'The server had a problem': 'Der Server hatte ein Problem',
  'Running apps are not affected. Try again; if the problem remains, tell an administrator.':
    'Laufende Apps sind nicht betroffen. Versuche es noch einmal; bleibt es so, sag es einem Administrator.',
  'Try again in {n} seconds.': {
    one: 'Versuche es in {n} Sekunde noch einmal.',
    other: 'Versuche es in {n} Sekunden noch einmal.',
  },
  'Try again in {n} minutes.': {
    one: 'Versuche es in {n} Minute noch einmal.',
    other: 'Versuche es in {n} Minuten noch einmal.',
  },
  'The decoders and the connection of this device have not been measured yet.':
    'Was dieses Gerät dekodieren kann und seine Verbindung wurden noch nicht gemessen.',
  'This device could not keep up with it in the last 30 days.':
    'Dieses Gerät kam in den letzten 30 Tagen damit nicht mit.',
  'The recommendation is limited to what the hosts can encode for one session while an app draws.':
    'Die Empfehlung richtet sich danach, was die Rechner für eine Sitzung kodieren können, während eine App zeichnet.',
  "The recommendation is limited to the app's own picture size, frame rate and bitrate.":
    'Die Empfehlung richtet sich nach Bildgröße, Bildrate und Bitrate der App.',
  'No host has the image of this app yet; try again soon.':
    'Noch kein Rechner hat das Abbild dieser App; versuche es bald noch einmal.',
  'This app is a container image, and no host runs containers yet.':
    'Diese App ist ein Container, und noch kein Rechner kann Container ausführen.',
};
