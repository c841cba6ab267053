import type { Table } from '../translate.ts';

/** A session on a device with a touch screen. */
export const touch: Table = {
  'The keyboard of this device': 'Die Tastatur dieses Geräts',
  'Touch and gamepad': 'Berührung und Gamepad',
  Touch: 'Berührung',
  'Fingers on the picture': 'Finger auf dem Bild',
  'Direct touch': 'Direkt berühren',
  'Touch pad': 'Touchpad',
  'A finger moves the pointer, a tap clicks, a long press drags. Two fingers scroll; a tap with two fingers is a right click.':
    'Ein Finger bewegt den Zeiger, Tippen klickt, langes Drücken zieht. Zwei Finger blättern; ihr Tippen ist ein Rechtsklick.',
  'Every finger touches the app itself, as on a touch screen.':
    'Jeder Finger liegt auf der App selbst, die einen Touchscreen hat.',
  'A finger touches the app. Two fingers scroll, or enlarge the picture if they move apart; a tap with two fingers is a right click.':
    'Ein Finger liegt auf der App selbst. Zwei Finger scrollen, oder vergrößern das Bild, wenn sie sich voneinander entfernen; ihr Tippen ist ein Rechtsklick.',
  'Gamepad on the screen': 'Gamepad auf dem Bildschirm',
  None: 'Keines',
  'Full gamepad': 'Ganzes Gamepad',
  'Cross and buttons': 'Kreuz und Knöpfe',
  'Two sticks': 'Zwei Sticks',
  'This host does not support gamepads. Your choice is used on hosts that do.':
    'Dieser Host nimmt keine Gamepads. Deine Wahl gilt, wo einer es tut.',
  'The app sees it as a gamepad that is plugged in.': 'Die App sieht es als angestecktes Gamepad.',
  'This device stores both choices.': 'Dieses Gerät merkt sich beides.',
  'Show the whole picture': 'Das ganze Bild zeigen',
  'Type into the app': 'In die App tippen',
  'More keys': 'Weitere Tasten',
  'Escape key': 'Escape-Taste',
  'Tab key': 'Tabulatortaste',
  'Function keys': 'Funktionstasten',
  'Arrow left': 'Pfeil nach links',
  'Arrow down': 'Pfeil nach unten',
  'Arrow up': 'Pfeil nach oben',
  'Arrow right': 'Pfeil nach rechts',
};
