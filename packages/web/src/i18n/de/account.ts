import type { Table } from '../translate.ts';

/** The account. */
export const account: Table = {
  'Your account': 'Dein Konto',
  Role: 'Rolle',
  'Member since': 'Dabei seit',
  Administrator: 'Administrator',
  User: 'Benutzer',
  'Picture quality': 'Bildqualität',
  Devices: 'Geräte',
  Files: 'Dateien',
  Keyboard: 'Tastatur',
  Look: 'Aussehen',
  Colours: 'Farben',
  'As the browser': 'Wie der Browser',
  'Keyboard of this device': 'Tastatur dieses Geräts',
  'Apps get the characters that are printed on your keys. The choice is for this device.':
    'Eine App bekommt die Zeichen, die auf deinen Tasten stehen. Es gilt für dieses Gerät.',
  'As the browser reports': 'Wie der Browser meldet',
  'An administrator sets it for everybody here. Your choice is saved and applies if that changes.':
    'Ein Administrator entscheidet es hier für alle. Deine Wahl bleibt gespeichert, falls sich das ändert.',
  Saved: 'Gespeichert',
  Recommended: 'Empfohlen',
  'May stutter here': 'Kann hier ruckeln',
  'Not for this device': 'Nicht für dieses Gerät',
  Automatic: 'Automatisch',
  Sharp: 'Scharf',
  Smooth: 'Flüssig',
  'Save data': 'Daten sparen',
  'Show all qualities': 'Alle Qualitäten zeigen',
  'The usual quality: {quality}': 'Die übliche Qualität: {quality}',
  'Whatever suits the app and this device': 'Was zur App und zu diesem Gerät passt',
  'Used from the next launch on, for every app that lets you choose.':
    'Ab dem nächsten Start, für jede App, die dir die Wahl lässt.',
  'Up to {size} at {fps} frames a second, about {mbps} Mbit/s.':
    'Bis zu {size} bei {fps} Bildern pro Sekunde, etwa {mbps} Mbit/s.',
  'In use now': 'Gerade in Gebrauch',
  'Last used {time}': 'Zuletzt benutzt: {time}',
  'This device': 'Dieses Gerät',
  'Running an app': 'Eine App läuft',
  Rename: 'Umbenennen',
  'Rename {device}': '{device} umbenennen',
  'Rename device': 'Gerät umbenennen',
  'Living room': 'Wohnzimmer',
  'Save name': 'Namen speichern',
  'Sign out': 'Abmelden',
  'Sign {device} out': '{device} abmelden',
  'Sign {device} out?': '{device} abmelden?',
  'Sign 1 device out': '1 Gerät abmelden',
  'No devices yet. A device appears here when you sign in on it.':
    'Noch ist kein Gerät bekannt. Es erscheint hier, wenn du dich damit anmeldest.',
  'That is the device you are using. You have to sign in again.':
    'Das ist das Gerät, das du gerade benutzt. Du musst dich neu anmelden.',
  'It has to sign in again.': 'Es muss sich neu anmelden.',
  'The app that you started on it ends.': 'Die App, die du dort gestartet hast, wird beendet.',
  ' on ': ' unter ',
  'Device {key}': 'Gerät {key}',
  'You have no files yet. Apps that store files for you appear here.':
    'Noch ist nichts für dich gespeichert. Apps mit eigenen Dateien erscheinen hier.',
  'Enter the password you have now': 'Gib dein jetziges Passwort ein',
  'Your password was changed. Every other device has to sign in again.':
    'Dein Passwort wurde geändert. Jedes andere Gerät muss sich neu anmelden.',
  'Changing it signs you out on every other device.':
    'Eine Änderung meldet dich auf allen anderen Geräten ab.',
  'Change password': 'Passwort ändern',
  'Current password': 'Jetziges Passwort',
  'New password': 'Neues Passwort',
  Cancel: 'Abbrechen',
  'This is not your current password': 'Das ist nicht dein jetziges Passwort',
};
