import type { Table } from '../../translate.ts';

/** The setup after the claim. */
export const setup: Table = {
  Access: 'Zugang',
  'First host': 'Erster Host',
  'First app': 'Erste App',
  'You can leave and come back at any step; nothing here is lost.':
    'Du kannst bei jedem Schritt gehen und wiederkommen; nichts geht verloren.',
  Finish: 'Fertigstellen',
  Next: 'Weiter',
  'Leave for now': 'Später weitermachen',
  'Open your library': 'Bibliothek öffnen',
  'The connection is secure': 'Die Verbindung ist sicher',
  'The connection is not secure': 'Die Verbindung ist nicht sicher',
  'You opened {address}. Browsers allow sound, full screen and the clipboard here.':
    'Du hast {address} geöffnet. Browser erlauben hier Ton, Vollbild und die Zwischenablage.',
  'Browsers block the clipboard, the keyboard lock and the microphone on such an address. Use https.':
    'Browser sperren bei so einer Adresse die Zwischenablage, das Einfangen der Tastatur und das Mikrofon. Nimm https.',
  'You came through a proxy that is not trusted': 'Du kommst über einen Proxy, dem nicht vertraut wird',
  'The certificate fits': 'Das Zertifikat passt',
  'Check the certificate': 'Prüfe das Zertifikat',
  'A proxy in front of this server has the certificate': 'Ein Proxy vor diesem Server hat das Zertifikat',
  'It is valid for {n} more days.': {
    one: 'Es gilt noch {n} Tag.',
    other: 'Es gilt noch {n} Tage.',
  },
  'This address may open sessions': 'Diese Adresse darf Sitzungen öffnen',
  'This address may not open sessions': 'Diese Adresse darf keine Sitzungen öffnen',
  'It is the server’s own address, which is always allowed.':
    'Es ist die eigene Adresse des Servers, die immer erlaubt ist.',
  'It is in the list of allowed origins.': 'Sie steht in der Liste der erlaubten Ursprünge.',
  'The entry for the list of allowed origins:': 'Der Eintrag für die Liste der erlaubten Ursprünge:',
  origin: 'Ursprung',
  'Its SHA-256 fingerprint. If a browser warns, it must show the same one:':
    'Sein SHA-256-Fingerabdruck. Wenn ein Browser warnt, muss er denselben zeigen:',
  'certificate fingerprint': 'Fingerabdruck des Zertifikats',
  'For the environment of this server:': 'Für die Umgebung dieses Servers:',
  'line of the environment': 'Zeile der Umgebung',
  'Worth a look': 'Sieh es dir an',
  'Check again': 'Noch einmal prüfen',
  'Download the certificate': 'Zertifikat herunterladen',
  'Waiting for a host': 'Warten auf einen Host',
  'A host is a machine that runs apps. To add one, run a command on it; it appears here after it has measured what it can encode.':
    'Ein Host ist ein Rechner, der Apps ausführt. Führe einen Befehl auf ihm aus, um ihn hinzuzufügen; er erscheint hier, sobald er gemessen hat, was er kodieren kann.',
  '{n} hosts connected': { one: '{n} Host verbunden', other: '{n} Hosts verbunden' },
  'No apps yet': 'Noch keine Apps',
  'An app is a program on your hosts or a container image. Add one now, or later on the apps page.':
    'Eine App ist ein Programm auf deinen Hosts oder ein Container-Image. Füge jetzt eine hinzu, oder später auf der Seite der Apps.',
  'These apps are here already; you find them in your library.':
    'Diese Apps sind schon da; du findest sie in deiner Bibliothek.',
  'Launch one now': 'Jetzt eine starten',
  'Setup is complete': 'Die Einrichtung ist fertig',
  'You find apps, hosts and everything else in this area. There you can also do the steps that you skipped, at any time.':
    'Apps, Hosts und alles andere findest du in diesem Bereich. Dort kannst du auch die Schritte nachholen, die du übersprungen hast.',
  People: 'Personen',
  'Invite them by a link': 'Mit einem Link einladen',
  Machines: 'Rechner',
  'Add another host': 'Noch einen Host hinzufügen',
  Backup: 'Sicherung',
  '{command}, in the folder of the server': '{command}, im Ordner des Servers',
};
