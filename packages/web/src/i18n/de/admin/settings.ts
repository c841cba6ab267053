import type { Table } from '../../translate.ts';

/** The settings of the instance, and its secrets. */
export const settings: Table = {
  'No secret can be stored yet, because the server has no master key to encrypt it. Set the key only in the environment of the server.':
    'Noch lässt sich kein Geheimnis speichern, weil der Server keinen Hauptschlüssel hat, um es zu verschlüsseln. Setze den Schlüssel nur in der Umgebung des Servers.',
  'This key was made in this browser, is shown only now, and is not sent anywhere. Add this line to the environment of the control plane (as a service: /etc/footlight/control.env), and restart it:':
    'Dieser Schlüssel wurde in diesem Browser erzeugt, ist nur jetzt zu sehen und wird nirgendwohin gesendet. Füge diese Zeile in die Umgebung der Control Plane ein (als Dienst: /etc/footlight/control.env) und starte sie neu:',
  'line for the environment': 'Zeile für die Umgebung',
  'Do not store a copy with the backups of the database: both together reveal the secrets. Without the key, every secret has to be stored again.':
    'Bewahre keine Kopie bei den Sicherungen der Datenbank auf: Beides zusammen verrät die Geheimnisse. Ohne den Schlüssel muss jedes Geheimnis neu gespeichert werden.',
  'Make a master key': 'Hauptschlüssel erzeugen',
  'Make another': 'Einen anderen erzeugen',
  'At most {max} addresses': 'Höchstens {max} Adressen',
  'Line {n}, “{line}”, is not an address such as https://play.example (http or https, a name, no path)':
    'Zeile {n}, „{line}“, ist keine Adresse wie https://play.example (http oder https, ein Name, kein Pfad)',
  '{name} was removed': '{name} wurde entfernt',
  'Where to get it': 'Woher du es bekommst',
  Replace: 'Ersetzen',
  Set: 'Hinterlegen',
  Remove: 'Entfernen',
  'Ends in {hint}.': 'Endet auf {hint}.',
  'Stored {time}.': 'Gespeichert {time}.',
  "Taken from {variable} of the server's environment.": 'Kommt aus {variable} in der Umgebung des Servers.',
  'Remove the {name}?': '{name} entfernen?',
  secret: 'Geheimnis',
  'Remove 1 secret': '1 Geheimnis entfernen',
  "The features that use it stop working, or continue with {variable} of the server's environment.":
    'Was es benutzt, funktioniert nicht mehr oder läuft mit {variable} aus der Umgebung des Servers weiter.',
  'The features that use it stop working.': 'Was es benutzt, funktioniert nicht mehr.',
  'Cannot be read': 'Nicht lesbar',
  'Not set': 'Nicht hinterlegt',
  'Is set': 'Hinterlegt',
  'Enter the value': 'Gib den Wert ein',
  'It was stored': 'Gespeichert',
  '{name} was stored': '{name} wurde gespeichert',
  Value: 'Wert',
  'Stored encrypted. You can replace it, but nobody can read it again.':
    'Verschlüsselt gespeichert. Du kannst ihn ersetzen, aber niemand kann ihn wieder lesen.',
  'Store it': 'Speichern',
  'Nobody: accounts exist already': 'Niemand: Konten gibt es schon',
  'People with an invite': 'Personen mit einer Einladung',
  'Everybody who reaches this page': 'Alle, die diese Seite erreichen',
  'Every change takes effect at once, without a restart.': 'Jede Änderung gilt sofort, ohne Neustart.',
  'The settings were saved': 'Die Einstellungen wurden gespeichert',
  'Who may register': 'Wer sich registrieren darf',
  'Invites are made under {link}.': 'Einladungen erstellst du unter {link}.',
  'Users, Invite people': 'Benutzer, Personen einladen',
  'Apps may hear the microphone of the person who uses them, when that person turns it on':
    'Apps dürfen das Mikrofon der Person hören, die sie benutzt, wenn sie es einschaltet',
  'Record the last minute of new sessions': 'Die letzte Minute neuer Sitzungen aufnehmen',
  'Hosts keep the last 60 seconds of picture and sound in memory. Administrators can save them for a day, and a failure, a note or a bad verdict saves them automatically. People see a mark as long as their session is recorded.':
    'Hosts behalten die letzten 60 Sekunden von Bild und Ton im Arbeitsspeicher. Administratoren können sie für einen Tag speichern, und ein Fehler, eine Notiz oder ein schlechtes Urteil speichert sie von selbst. Solange ihre Sitzung aufgenommen wird, sehen Personen ein Zeichen.',
  'Other addresses of this service': 'Andere Adressen dieses Dienstes',
  'Allowed origins': 'Erlaubte Ursprünge',
  'One per line, such as https://play.example. The address of this page needs no entry, except behind a proxy that changes the Host header.':
    'Einer pro Zeile, zum Beispiel https://play.example. Die Adresse dieser Seite braucht keinen Eintrag, außer hinter einem Proxy, der den Host-Header ändert.',
  "{variable} of the server's environment replaces this list: {list}. The list that is stored here applies after this variable is removed.":
    '{variable} in der Umgebung des Servers ersetzt diese Liste: {list}. Die hier gespeicherte Liste gilt, sobald diese Variable entfernt ist.',
  'no other origin': 'kein anderer Ursprung',
  'This page was opened as {address}, which is not allowed yet. Sessions cannot be opened from here until it is.':
    'Diese Seite wurde als {address} geöffnet, was noch nicht erlaubt ist. Bis dahin lassen sich von hier keine Sitzungen öffnen.',
  'Save settings': 'Einstellungen speichern',
  'Last changed {time}': 'Zuletzt geändert: {time}',
  'A directory on the host': 'In einem Verzeichnis auf dem Host',
  'A volume of the container engine': 'In einem Volume der Container-Engine',
  Nothing: 'Nichts tun',
  'Tell administrators': 'Administratoren informieren',
  'Update all hosts': 'Alle Hosts aktualisieren',
  'Homes of apps': 'Homes von Apps',
  'Where new homes are stored': 'Wo neue Homes gespeichert werden',
  'A home keeps what an app saves for one person. Homes that exist stay where they are.':
    'Ein Home enthält, was eine App für eine Person speichert. Vorhandene Homes bleiben, wo sie sind.',
  'Show the games that people installed in their homes as apps':
    'Spiele, die Personen in ihren Homes installiert haben, als Apps zeigen',
  'Hosts look into the homes of launchers such as Steam. Each person sees the games of their own home.':
    'Hosts sehen in die Homes von Launchern wie Steam. Jede Person sieht die Spiele ihres eigenen Homes.',
  'No home is searched: {reason}': 'Kein Home wird durchsucht: {reason}',
  'Minutes between two searches of a home': 'Minuten zwischen zwei Suchläufen in einem Home',
  'Look up found games in the store': 'Gefundene Spiele im Shop nachschlagen',
  'Then only games become apps, and get a description. The ids of the games are sent to the store.':
    'Dann werden nur Spiele zu Apps und bekommen eine Beschreibung. Die Ids der Spiele werden an den Shop gesendet.',
  'the store is asked': 'der Shop wird gefragt',
  'the store is not asked': 'der Shop wird nicht gefragt',
  'Images of apps': 'Images von Apps',
  'When a newer image is published': 'Wenn ein neueres Image erscheint',
  "{variable} of the server's environment replaces this: {value}. The value that is stored here applies after this variable is removed.":
    '{variable} in der Umgebung des Servers ersetzt das: {value}. Der hier gespeicherte Wert gilt, sobald diese Variable entfernt ist.',
  'homes are never searched': 'Homes werden nie durchsucht',
  'every {n} seconds': { one: 'alle {n} Sekunden', other: 'alle {n} Sekunden' },
  'every {n} minutes': { one: 'jede {n}. Minute', other: 'alle {n} Minuten' },
};
