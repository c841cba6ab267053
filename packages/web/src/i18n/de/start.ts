import type { Table } from '../translate.ts';

/** The pages before the library, and texts that all pages share. */
export const start: Table = {
  'Waiting for the server': 'Warten auf den Server',
  'Log in': 'Anmelden',
  'Enter your email address': 'Gib deine E-Mail-Adresse ein',
  'Enter your password': 'Gib dein Passwort ein',
  'This part is for administrators': 'Dieser Teil ist für Administratoren',
  'You are signed in as {name}, who is no administrator here.':
    'Du bist als {name} angemeldet, ohne Rechte als Administrator.',
  'a user': 'Benutzer',
  'Go to your library': 'Zu deiner Bibliothek',
  'Log in as somebody else': 'Als jemand anderes anmelden',
  'Your apps are one step away.': 'Nur noch ein Schritt bis zu deinen Apps.',
  'You were signed out: somebody ended the login of this browser, the password was changed, or the login has expired.':
    'Du wurdest abgemeldet: Jemand hat die Anmeldung dieses Browsers beendet, das Passwort wurde geändert, oder die Anmeldung ist abgelaufen.',
  'No account yet? {register}': 'Noch kein Konto? {register}',
  'Already have one? {login}': 'Du hast schon eins? {login}',
  Email: 'E-Mail',
  Password: 'Passwort',
  'Show password': 'Passwort anzeigen',
  Name: 'Name',
  Register: 'Registrieren',
  'This email address or name is taken.': 'Diese E-Mail-Adresse oder dieser Name ist vergeben.',
  'Make an account': 'Konto anlegen',
  'The account is only for this instance; its data stays here.':
    'Nur für diese Instanz; nichts verlässt sie.',
  'Invite code': 'Einladungscode',
  'Only invited people can register here.': 'Diese Instanz lässt Eingeladene herein.',
  'Enter the invite code you were given': 'Gib den Einladungscode ein, den du bekommen hast',
  'Needed only if this instance asks for one.': 'Nur nötig, wenn diese Instanz einen verlangt.',
  'Shown to administrators and on your screen.': 'Sichtbar für Administratoren und auf deinem Bildschirm.',
  'Enter an email address': 'Gib eine E-Mail-Adresse ein',
  'This does not look like an email address': 'Das sieht nicht nach einer E-Mail-Adresse aus',
  'Choose a name': 'Wähle einen Namen',
  'At least {min} characters. A few plain words are fine.':
    'Mindestens {min} Zeichen. Ein paar einfache Wörter genügen.',
  'At least {min} characters': 'Mindestens {min} Zeichen',
  'At most {max} characters': 'Höchstens {max} Zeichen',
  'It must not contain your name or email address':
    'Es darf deinen Namen und deine E-Mail-Adresse nicht enthalten',
  'New password': 'Neues Passwort',
  'This link cannot be used': 'Dieser Link kann nicht benutzt werden',
  'It was used already, or replaced, or is older than a day. Ask your administrator for another.':
    'Er wurde schon benutzt oder ersetzt, oder er ist älter als einen Tag. Bitte deinen Administrator um einen neuen.',
  'Go to the login': 'Zur Anmeldung',
  'It replaces the old one, and every device has to sign in again.':
    'Es ersetzt das alte, und jedes Gerät muss sich neu anmelden.',
  'Too common, or it contains your name or email address. Choose another.':
    'Zu verbreitet, oder es enthält deinen Namen oder deine E-Mail-Adresse. Wähle ein anderes.',
  'Set the password': 'Passwort setzen',
  'Set up': 'Einrichten',
  'Make this instance yours': 'Übernimm diese Instanz',
  'Nobody has claimed it yet. The first account becomes its administrator. To create it, you need a token that only people with access to the server can read.':
    'Noch hat sie niemand übernommen. Das erste Konto wird ihr Administrator. Deshalb fragt sie nach einem Token, das nur lesen kann, wer Zugang zu ihrem Rechner hat.',
  'The token is 64 letters and digits long': 'Das Token hat 64 Buchstaben und Ziffern',
  'This token is wrong. Every start of the server makes a new one, so read the token again.':
    'Dieses Token ist falsch. Jeder Start des Servers macht ein neues, lies es also noch einmal.',
  'Setup token': 'Token zum Einrichten',
  'On the machine of the server: ./scripts/up prints the command that shows the token. An installed service writes it to /run/service/setup-token. Every start makes a new token.':
    'Auf dem Rechner des Servers: ./scripts/up nennt den Befehl, der es zeigt. Ein installierter Dienst legt es in /run/service/setup-token ab. Jeder Start macht ein neues.',
  'Claim this instance': 'Instanz übernehmen',
  'I have a backup of an instance': 'Ich habe die Sicherung einer Instanz',
  'Restore it instead of making an account: accounts, apps and settings come back with it. Stop the server, run this in its folder, and start it again. Pictures of apps and the certificate are separate files, which a backup does not contain.':
    'Spiele sie ein, statt ein Konto anzulegen: Konten, Apps und Einstellungen kommen damit zurück. Halte den Server an, führe dies in seinem Ordner aus und starte ihn wieder. Bilder der Apps und das Zertifikat sind eigene Dateien, die nicht in der Sicherung sind.',
  'command that restores a backup': 'Befehl, der eine Sicherung einspielt',
  'Copy {what}': '{what} kopieren',
  Copied: 'Kopiert',
  Space: 'Leerzeichen',
  'Capital letters': 'Großbuchstaben',
  Signs: 'Zeichen',
  Delete: 'Löschen',
  Done: 'Fertig',
  Language: 'Sprache',
  'Try again': 'Noch einmal versuchen',
  Close: 'Schließen',
  never: 'nie',
  'just now': 'gerade eben',
  'in under a minute': 'in weniger als einer Minute',
  'Nothing here': 'Nichts hier',
  'Page not found': 'Hier wird nichts gespielt',
  'Check the address for typing errors. The page may also have been removed.':
    'Die Adresse führt nirgendwohin. Vielleicht ist sie vertippt, oder was sie benannte, wurde entfernt.',
};
