import type { Table } from '../translate.ts';

/** A session: its bar, its dialogs, its statistics, and messages about a lost connection. */
export const session: Table = {
  'The server takes long to answer. This page waits.':
    'Der Server braucht lange für eine Antwort. Diese Seite wartet.',
  'The server has a problem. This page tries again automatically.':
    'Der Server hat ein Problem. Diese Seite versucht es von selbst noch einmal.',
  'The server cannot be reached. This page tries again automatically.':
    'Der Server ist nicht erreichbar. Diese Seite versucht es von selbst noch einmal.',
  'The machine of this app does not have your keyboard layout. Keys may type other characters.':
    'Der Rechner dieser App hat deine Tastaturbelegung nicht. Tasten können andere Zeichen schreiben.',
  'The connection was closed, because the host could not read your input.':
    'Die Verbindung wurde getrennt, weil der Rechner deine Eingaben nicht lesen konnte.',
  'The connection was closed, because this page sent more input than the host accepts.':
    'Die Verbindung wurde getrennt, weil mehr Eingaben kamen, als der Rechner annimmt.',
  'The app did not get what you pasted: it is longer than 64 KiB.':
    'Die App hat nicht erhalten, was du eingefügt hast: Es ist länger als 64 KiB.',
  'No network for {n} seconds.': {
    one: 'Seit {n} Sekunde kein Netz.',
    other: 'Seit {n} Sekunden kein Netz.',
  },
  'No picture for {n} seconds.': {
    one: 'Seit {n} Sekunde kein Bild.',
    other: 'Seit {n} Sekunden kein Bild.',
  },
  'Next attempt in {n} seconds.': {
    one: 'Nächster Versuch in {n} Sekunde.',
    other: 'Nächster Versuch in {n} Sekunden.',
  },
  'Reconnecting automatically.': 'Die Verbindung kommt von selbst zurück.',
  'The app keeps running.': 'Die App läuft weiter.',
  'The app stays open for {time}.': 'Die App bleibt noch {time} offen.',
  Excellent: 'Sehr gut',
  Good: 'Gut',
  Poor: 'Schlecht',
  'the picture froze': 'das Bild stand still',
  'the host is busy: pictures wait there for {ms}': 'der Rechner ist ausgelastet: Bilder warten dort {ms}',
  'only {n} of {wanted} frames a second arrive': 'nur {n} von {wanted} Bildern pro Sekunde kommen an',
  '{n} of {wanted} frames a second': '{n} von {wanted} Bildern pro Sekunde',
  '{share} % of packets lost': '{share} % der Pakete verloren',
  'network delay {ms}': 'Verzögerung im Netz {ms}',
  'network jitter {ms}': 'Schwankung im Netz {ms}',
  'pictures wait here for {ms}': 'Bilder warten hier {ms}',
  'this device decodes too slowly; a lower quality helps':
    'dieses Gerät dekodiert zu langsam; eine niedrigere Qualität hilft',
  'this device shows the picture unevenly; other programs may keep it busy':
    'dieses Gerät zeigt das Bild ungleichmäßig; vielleicht beschäftigen es andere Programme',
  'pictures are {ms} old': 'Bilder sind {ms} alt',
  Statistics: 'Messwerte',
  'Close the statistics': 'Messwerte schließen',
  Measurements: 'Messungen',
  'delay {ms}': 'Verzögerung {ms}',
  'Frames a second': 'Bilder pro Sekunde',
  '{n} frames a second': '{n} Bilder pro Sekunde',
  'Delay, screen to screen': 'Verzögerung, Bildschirm zu Bildschirm',
  'Data rate': 'Datenrate',
  'Round trip': 'Umlaufzeit',
  'Packets lost': 'Verlorene Pakete',
  Jitter: 'Schwankung',
  'Wait in the buffer': 'Wartezeit im Puffer',
  Decoding: 'Dekodieren',
  Capture: 'Aufnehmen',
  Encode: 'Kodieren',
  Network: 'Netz',
  Decode: 'Dekodieren',
  Show: 'Zeigen',
  'Where the delay comes from': 'Woher die Verzögerung kommt',
  'press a key or button': 'drücke eine Taste',
  'The clocks of the host and this page are still being compared.':
    'Die Uhren des Rechners und dieser Seite werden noch verglichen.',
  Picture: 'Bild',
  'Encode time on the host': 'Kodierzeit auf dem Rechner',
  'Frames dropped here': 'Hier ausgelassene Bilder',
  Freezes: 'Standbilder',
  'Packets lost in total': 'Verlorene Pakete insgesamt',
  'Longest gap between frames': 'Größte Lücke zwischen Bildern',
  'Your display': 'Dein Bildschirm',
  now: 'jetzt',
  'Leave full screen (hold Esc)': 'Vollbild verlassen (Esc gedrückt halten)',
  'Leave full screen (Esc)': 'Vollbild verlassen (Esc)',
  'An administrator sets it for everybody here.': 'Ein Administrator entscheidet es hier für alle.',
  'Choose the quality of {app}': 'Qualität von {app} wählen',
  'Relaunch with another quality': 'Mit anderer Qualität neu starten',
  'End and relaunch {app}': '{app} beenden und neu starten',
  'The app is closed and started again. What it has not saved is lost.':
    'Die App wird geschlossen und neu gestartet. Was sie nicht gespeichert hat, ist verloren.',
  'Turn the sound on': 'Ton einschalten',
  'Turn the sound off': 'Ton ausschalten',
  'Type text or keys': 'Text oder Tasten eingeben',
  'Keyboard {sign}; type text or keys': 'Tastatur {sign}; Text oder Tasten eingeben',
  'Change the app': 'App wechseln',
  'Lock the pointer': 'Zeiger fangen',
  'Turn the microphone off': 'Mikrofon ausschalten',
  'Turn the microphone on': 'Mikrofon einschalten',
  'Stop fitting the app to this window': 'Der App ihre eigene Form zurückgeben',
  'Fit the app to this window': 'App an dieses Fenster anpassen',
  'Full screen': 'Vollbild',
  More: 'Mehr',
  'Move the gamepad': 'Gamepad verschieben',
  'Drag each side to where your thumbs are.': 'Ziehe jede Seite dorthin, wo deine Daumen sind.',
  Reset: 'Zurücksetzen',
  Done: 'Fertig',
  'Hold a finger on the picture for the controls':
    'Halte einen Finger auf das Bild, dann kommt die Bedienung',
  'Press the handle at the edge for the controls': 'Tippe auf den Griff am Rand, dann kommt die Bedienung',
  Volume: 'Lautstärke',
  Off: 'Aus',
  'Show the controls': 'Bedienung zeigen',
  Controls: 'Bedienung',
  'Back to the library; the app stays open': 'Zurück zur Bibliothek; die App bleibt offen',
  'Show measurements': 'Messwerte zeigen',
  'Quality {word}; show measurements': 'Qualität: {word}; Messwerte zeigen',
  'not measured yet': 'noch nicht gemessen',
  Measuring: 'Wird gemessen',
  'The browser blocks the microphone; allow it for this page, then turn it on':
    'Der Browser gibt das Mikrofon nicht frei; erlaube es dieser Seite und schalte es dann ein',
  'No microphone can be used here; try again': 'Hier ist kein Mikrofon nutzbar; versuche es noch einmal',
  'Switch between {n} windows': {
    one: 'Zu {n} Fenster wechseln',
    other: 'Zwischen {n} Fenstern wechseln',
  },
  '{n} gamepads are used': { one: '{n} Gamepad in Gebrauch', other: '{n} Gamepads in Gebrauch' },
  'The app that runs now is closed. What it has not saved is lost.':
    'Die App, die jetzt läuft, wird geschlossen. Was sie nicht gespeichert hat, ist verloren.',
  'There is no other app of that name.': 'Es gibt keine andere App mit diesem Namen.',
  '{n} more; type a part of the name.': {
    one: '{n} weitere; gib einen Teil des Namens ein.',
    other: '{n} weitere; gib einen Teil des Namens ein.',
  },
  Windows: 'Fenster',
  'A window without a title': 'Ein Fenster ohne Titel',
  Top: 'Oben',
  Bottom: 'Unten',
  Left: 'Links',
  Right: 'Rechts',
  'This bar': 'Diese Leiste',
  'A small handle instead': 'Stattdessen ein kleiner Griff',
  'On a gamepad the guide button opens it, or View and Menu held for a second.':
    'Am Gamepad öffnet sie die Guide-Taste, oder View und Menu zusammen eine Sekunde lang.',
  'Hold {view} and {menu} for the controls': '{view} und {menu} halten für die Bedienung',
  'With a handle, the bar does not open when the pointer rests at the edge. {keys} or a long touch always opens it. Your account stores this choice.':
    'Mit einem Griff kommt die Leiste nie, wenn der Zeiger am Rand ruht. {keys} öffnet sie immer, und eine lange Berührung auch. Dein Konto merkt sich das.',
  'Your keyboard': 'Deine Tastatur',
  'As detected: {name}': 'Wie erkannt: {name}',
  'As detected': 'Wie erkannt',
  'Choose the layout that is printed on your keys, so that the app gets these characters. This device remembers your choice. It changes nothing in games that read the position of a key instead of its character.':
    'Wähle die Belegung, die auf deinen Tasten steht; dann bekommt die App diese Zeichen. Dieses Gerät merkt sich deine Wahl. Für Spiele, die den Ort einer Taste lesen, ändert sie nichts.',
  'Type into the app': 'In die App schreiben',
  'Type it': 'Schreiben',
  'Files of this app': 'Dateien dieser App',
  'Send files': 'Dateien senden',
  'Folder above': 'Ordner darüber',
  'Files to send': 'Dateien zum Senden',
  '{file} is being downloaded. Its progress is on the picture.':
    '{file} wird heruntergeladen. Der Fortschritt steht auf dem Bild.',
  'Sent files appear in the folder Uploads; each can have at most {size}. You can also drop files on the picture.':
    'Sie kommen in Uploads an, jede höchstens {size}. Du kannst sie auch auf das Bild ziehen.',
  Home: 'Eigener Ordner',
  'Nothing is in this folder.': 'In diesem Ordner ist nichts.',
  'Download {file}': '{file} herunterladen',
  'Delete {file} permanently': '{file} endgültig löschen',
  'Delete {file}': '{file} löschen',
  Delete: 'Löschen',
  'There is more here than can be shown.': 'Hier liegt mehr, als gezeigt werden kann.',
  Transfers: 'Übertragungen',
  'Hide {file}': '{file} ausblenden',
  'Cancel {file}': '{file} abbrechen',
  '{file} is on its way': '{file} ist unterwegs',
  '{moved} of {size}': '{moved} von {size}',
  'The picture moved to another window': 'Es ist in ein anderes Fenster umgezogen',
  'The app keeps running there. You can bring it back here.':
    'Die App läuft dort weiter. Du kannst sie hierher zurückholen.',
  'Use it here': 'Hier benutzen',
  'This browser cannot play the picture': 'Dieser Browser kann das Bild nicht zeigen',
  'The app keeps running. Another browser, or a current version of this one, can show it.':
    'Die App läuft weiter. Ein anderer Browser oder eine aktuelle Version von diesem kann sie zeigen.',
  'The server was updated. The app keeps running.': 'Der Server wurde aktualisiert. Die App läuft weiter.',
  Reload: 'Neu laden',
  'You cannot watch this session': 'Du kannst diese Sitzung nicht sehen',
  'Only the person who launched it can.': 'Das kann nur, wer sie gestartet hat.',
  'The picture could not be shown': 'Das Bild konnte nicht gezeigt werden',
  'The app keeps running. Try again in a moment.': 'Die App läuft weiter. Versuche es gleich noch einmal.',
  'The last minute is recorded': 'Die letzte Minute wird aufgenommen',
  'Administrators can save it for a day.': 'Administratoren können sie einen Tag lang behalten.',
  'Changing the app': 'Die App wird gewechselt',
  'The host did not change the app': 'Der Rechner hat die App nicht gewechselt',
  'The new app did not start; the previous one keeps running':
    'Die neue App ist nicht gestartet; die bisherige läuft weiter',
  'Time played': 'Gespielt',
  Smooth: 'Flüssig',
  'Click to picture': 'Vom Klick zum Bild',
  'How it was': 'Wie es war',
  'Judged by the last {n} minutes.': 'Beurteilt nach den letzten {n} Minuten.',
  'Everything except the time played is about the last {n} minutes.':
    'Alles außer der Spielzeit ist aus den letzten {n} Minuten.',
  '{app}. {keys} shows the controls.': '{app}. {keys} zeigt die Bedienung.',
  'Microphone on': 'Mikrofon an',
  'Turn it off': 'Ausschalten',
  'Drop the file to send it to the folder Uploads': 'Loslassen, um es an Uploads zu senden',
  'The app is closed. What it has not saved is lost. To keep it open, go back to the library instead.':
    'Die App wird geschlossen. Was sie nicht gespeichert hat, ist verloren. Soll sie offen bleiben, geh stattdessen zurück zur Bibliothek.',
  'Your app': 'Deine App',
  'The machine was lost and did not come back in time.':
    'Der Rechner ging verloren und kam nicht rechtzeitig zurück.',
  'You ended this app.': 'Du hast diese App beendet.',
  'An administrator ended this app.': 'Ein Administrator hat diese App beendet.',
  'The app closed itself.': 'Die App hat sich selbst geschlossen.',
  'It was ended because nobody used it for a while.':
    'Sie wurde beendet, weil sie eine Weile niemand benutzt hat.',
  'An administrator took the machine out of service.':
    'Ein Administrator hat den Rechner außer Betrieb genommen.',
  'The machine was shut down.': 'Der Rechner wurde heruntergefahren.',
  'The machine lost its connection to the server for too long.':
    'Der Rechner hatte zu lange keine Verbindung zum Server.',
  'Your account was disabled.': 'Dein Konto wurde gesperrt.',
  'This device was signed out.': 'Dieses Gerät wurde abgemeldet.',
  'The connection to this browser was lost for too long.':
    'Die Verbindung zu diesem Browser war zu lange unterbrochen.',
  'The app took too long to start.': 'Die App hat zu lange zum Starten gebraucht.',
  'The machine did not accept the app.': 'Der Rechner konnte die App nicht übernehmen.',
  'The app closed before it showed anything.': 'Die App hat sich geschlossen, bevor sie etwas gezeigt hat.',
  'The app crashed.': 'Die App ist abgestürzt.',
  'The app started but never drew a picture.': 'Die App ist gestartet, hat aber nie ein Bild gezeichnet.',
  'The machine does not have this app.': 'Der Rechner hat diese App nicht.',
  'Fetching the app took too long.': 'Das Holen der App hat zu lange gedauert.',
  'The machine has no encoder for the picture.': 'Der Rechner hat nichts, um das Bild zu erzeugen.',
  'The machine could not continue to encode the picture.':
    'Der Rechner konnte das Bild nicht weiter erzeugen.',
  'The program that encodes the picture crashed.': 'Der Teil, der das Bild erzeugt, ist abgestürzt.',
  'The app’s display stopped answering.': 'Die Anzeige der App antwortet nicht mehr.',
  'The app was ended because it tried to access the displays of other apps.':
    'Die App wurde beendet, weil sie nach den Anzeigen anderer Apps gegriffen hat.',
  'The app’s picture could not be captured.': 'Das Bild der App konnte nicht aufgenommen werden.',
  'The app’s container could not be started.': 'Der Container der App konnte nicht gestartet werden.',
  'Your files for this app could not be opened.':
    'Deine Dateien für diese App konnten nicht geöffnet werden.',
  'The connection to this browser was too slow for too long.':
    'Die Verbindung zu diesem Browser war zu lange zu langsam.',
  'The machine’s agent restarted, which ended the app.':
    'Der Agent des Rechners wurde neu gestartet und konnte die App nicht halten.',
  'The rules of the machine do not allow this app.': 'Die Regeln des Rechners erlauben diese App nicht.',
  'The machine had no room for the app.': 'Der Rechner hatte keinen Platz für die App.',
  'Something went wrong on the machine.': 'Auf dem Rechner ist etwas schiefgegangen.',
  'The app has ended.': 'Die App wurde beendet.',
  'The app could not be started.': 'Die App konnte nicht gestartet werden.',
  'Something went wrong and the app had to be ended.':
    'Etwas ist schiefgegangen, und die App musste beendet werden.',
  'Measured {measured} kbit/s; at least {needed} are needed.':
    'Gemessen sind {measured} kbit/s; nötig sind mindestens {needed}.',
  'Measured {measured} kbit/s; {recommended} are recommended.':
    'Gemessen sind {measured} kbit/s; empfohlen sind {recommended}.',
  'Measured a round trip of {measured} ms; at most {most} ms are allowed.':
    'Gemessen ist eine Umlaufzeit von {measured} ms; höchstens {most} dürfen es sein.',
  'This device decodes {lines} lines; {needed} are needed.':
    'Dieses Gerät dekodiert {lines} Zeilen; nötig sind {needed}.',
  'This device does not decode {codec}.': 'Dieses Gerät dekodiert {codec} nicht.',
  'The host does not encode {codec}.': 'Der Rechner kodiert {codec} nicht.',
  'Browsers often cannot keep up with this quality.': 'Browser kommen mit dieser Qualität oft nicht mit.',
  'It is not known whether the display shows {fps} pictures per second.':
    'Ob der Bildschirm {fps} Bilder pro Sekunde zeigt, ist nicht bekannt.',
  'The display shows only {hz} of {fps} pictures per second.':
    'Der Bildschirm zeigt nur {hz} von {fps} Bildern pro Sekunde.',
  'The connection to this device lost data and answered slowly.':
    'Die Verbindung zu diesem Gerät hat Daten verloren und langsam geantwortet.',
  'Use a cable or move closer to the Wi-Fi, pause other downloads, or choose a quality with a lower bitrate.':
    'Nimm ein Kabel oder geh näher an das WLAN, halte andere Downloads an oder wähle eine Qualität mit weniger Bitrate.',
  'The machine that ran the app could not make the picture fast enough.':
    'Der Rechner der App konnte das Bild nicht schnell genug erzeugen.',
  'Choose a lower quality. If it happens again, tell an administrator.':
    'Wähle eine niedrigere Qualität. Passiert es wieder, sag es einem Administrator.',
  'The picture arrived in time, but this device showed it unevenly.':
    'Das Bild kam rechtzeitig an, aber dieses Gerät hat es ungleichmäßig gezeigt.',
  'Close other programs and tabs, turn on hardware acceleration in the browser, or choose another quality.':
    'Schließe andere Programme und Tabs, schalte im Browser die Hardwarebeschleunigung ein oder wähle eine andere Qualität.',
  'The page was hidden for a part of the time, so its picture cannot be judged.':
    'Die Seite war eine Zeit lang verdeckt, deshalb lässt sich ihr Bild nicht beurteilen.',
  'Too little was measured to say what limited it.':
    'Es wurde zu wenig gemessen, um zu sagen, was sie eingeschränkt hat.',
  'It was too short to say what limited it.': 'Sie war zu kurz, um zu sagen, was sie eingeschränkt hat.',
  'Not all of it was smooth, and no single cause was found.':
    'Nicht alles war flüssig, und eine einzelne Ursache wurde nicht gefunden.',
  'Tell an administrator at what time it happened. The measurements are stored only for a while.':
    'Sag einem Administrator, wann es war: Was gemessen wurde, bleibt eine Weile erhalten.',
  'Nothing limited it.': 'Nichts hat sie eingeschränkt.',
  '{app}, open for {time}, ended {when}.': '{app}, {time} lang offen, beendet {when}.',
  '{app}, ended {when}.': '{app}, beendet {when}.',
  'Technical reason and log': 'Technischer Grund und Protokoll',
  'Technical reason': 'Technischer Grund',
  'The app’s last output': 'Die letzte Ausgabe der App',
  Failure: 'Fehler',
  Reason: 'Grund',
  Message: 'Meldung',
  'Last step': 'Letzter Schritt',
  Session: 'Sitzung',
  Host: 'Host',
  'It is not there any more.': 'Sie ist nicht mehr da.',
  'The host does not allow that.': 'Der Rechner erlaubt das nicht.',
  'It is larger than the host accepts.': 'Sie ist größer, als der Rechner annimmt.',
  'The host has too little space left.': 'Der Rechner hat zu wenig Platz.',
  'Too many transfers at once. Try again in a moment.':
    'Zu viele Übertragungen auf einmal. Versuche es gleich noch einmal.',
  'Too many files have this name.': 'Zu viele Dateien heißen so.',
  'It could not be read or written completely.': 'Sie konnte nicht ganz gelesen oder geschrieben werden.',
  'The connection was lost; the incomplete file was removed.':
    'Die Verbindung ging verloren; nichts Halbes ist übrig.',
  'This browser cannot read it.': 'Dieser Browser kann sie nicht lesen.',
  'It is in {path}': 'Sie liegt in {path}',
  'It is in your downloads.': 'Sie liegt in deinen Downloads.',
  'The host accepts files of up to {size}.': 'Der Rechner nimmt {size} je Datei.',
  '{app} decides its picture quality itself.': '{app} legt die Bildqualität selbst fest.',
};
