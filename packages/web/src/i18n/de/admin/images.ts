import type { Table } from '../../translate.ts';

/** The image catalog, and images on hosts. */
export const images: Table = {
  'Not installed': 'Nicht installiert',
  'Newer one, pinned': 'Neueres da, festgehalten',
  'Newer one': 'Neueres da',
  'Installed, pinned': 'Installiert, festgehalten',
  Installed: 'Installiert',
  'Not there': 'Nicht da',
  Pulling: 'Wird geladen',
  Building: 'Wird gebaut',
  Ready: 'Bereit',
  Failed: 'Fehlgeschlagen',
  'Failed on {n} hosts': {
    one: 'Auf {n} Host fehlgeschlagen',
    other: 'Auf {n} Hosts fehlgeschlagen',
  },
  'Fetching on {n} hosts': { one: '{n} Host lädt es', other: '{n} Hosts laden es' },
  '{ready} of {n} hosts': { one: '{ready} von {n} Host', other: '{ready} von {n} Hosts' },
  '{ready} of {n} hosts, {percent} %': {
    one: '{ready} von {n} Host, {percent} %',
    other: '{ready} von {n} Hosts, {percent} %',
  },
  Images: 'Images',
  Progress: 'Fortschritt',
  Version: 'Version',
  Size: 'Größe',
  Image: 'Image',
  'Update to {version}': 'Auf {version} aktualisieren',
  Unpin: 'Nicht mehr festhalten',
  'Pin this version': 'Diese Version festhalten',
  Uninstall: 'Deinstallieren',
  Install: 'Installieren',
  '{newer} is newer. The image is pinned, so it stays at {installed} until you unpin it.':
    '{newer} ist neuer. Das Image wird festgehalten und bleibt deshalb bei {installed}, bis du es nicht mehr festhältst.',
  'In use': 'In Gebrauch',
  'In the catalog': 'Im Katalog',
  'Its publisher; hosts pull it': 'Seinem Herausgeber; Hosts laden es herunter',
  'Each host, from a Dockerfile': 'Jedem Host, aus einem Dockerfile',
  'Hosts fetch it': 'Hosts laden es',
  'With the first launch there': 'Beim ersten Start dort',
  'At once': 'Sofort',
  'not known': 'nicht bekannt',
  'How its apps are started': 'Wie seine Apps gestartet werden',
  'Games in it': 'Spiele darin',
  'Found by {discovery}': 'Gefunden durch die {discovery}',
  discovery: 'Spielesuche',
  'On disks': 'Auf Datenträgern',
  Digest: 'Prüfsumme',
  Hosts: 'Hosts',
  'No host has enrolled yet.': 'Noch hat sich kein Host angemeldet.',
  'Hosts of the image': 'Hosts des Images',
  'Uninstall {image}?': '{image} deinstallieren?',
  begins: 'beginnt',
  'Progress on {host}': 'Fortschritt auf {host}',
  'No app': 'Keine App',
  'Their next launch on a host fetches it again, which takes minutes.':
    'Ihr nächster Start auf einem Host lädt es neu, das dauert Minuten.',
  'They cannot be launched until it is installed again.':
    'Sie lassen sich erst wieder starten, wenn es wieder installiert ist.',
  'Install {image} {version}?': '{image} {version} installieren?',
  'Install for later': 'Für später installieren',
  'Each host fetches it with the first launch there, which then takes minutes.':
    'Jeder Host lädt es beim ersten Start dort, der dann Minuten dauert.',
  'The catalog has no finished image, only a Dockerfile, so each host builds the image itself.':
    'Der Katalog hat kein fertiges Image, nur ein Dockerfile, deshalb baut jeder Host das Image selbst.',
  'Fetch it only at the first launch on each host': 'Erst beim ersten Start auf jedem Host laden',
  'Remove it from {n} hosts': { one: 'Von {n} Host entfernen', other: 'Von {n} Hosts entfernen' },
  'It is deleted on {n} hosts. Its preset stays, and a later installation uses it again.': {
    one: 'Es wird auf {n} Host gelöscht. Seine Vorlage bleibt, und eine spätere Installation benutzt sie wieder.',
    other:
      'Es wird auf {n} Hosts gelöscht. Seine Vorlage bleibt, und eine spätere Installation benutzt sie wieder.',
  },
  'It is deleted on {n} hosts, which frees {size}. Its preset stays, and a later installation uses it again.':
    {
      one: 'Es wird auf {n} Host gelöscht, das gibt {size} frei. Seine Vorlage bleibt, und eine spätere Installation benutzt sie wieder.',
      other:
        'Es wird auf {n} Hosts gelöscht, das gibt {size} frei. Seine Vorlage bleibt, und eine spätere Installation benutzt sie wieder.',
    },
  '{n} apps use it: {apps}.': { one: '{n} App benutzt es: {apps}.', other: '{n} Apps benutzen es: {apps}.' },
  '{n} of their sessions continue; their hosts keep the image.': {
    one: '{n} ihrer Sitzungen läuft weiter; deren Host behält das Image.',
    other: '{n} ihrer Sitzungen laufen weiter; deren Hosts behalten das Image.',
  },
  'Install on {n} hosts': { one: 'Auf {n} Host installieren', other: 'Auf {n} Hosts installieren' },
  '{n} hosts fetch it now; offline hosts fetch it when they reconnect.': {
    one: '{n} Host lädt es jetzt; ist er offline, sobald er wieder verbunden ist.',
    other: '{n} Hosts laden es jetzt; wer offline ist, sobald er wieder verbunden ist.',
  },
  On: 'Auf',
  'Newer ones': 'Neueres da',
  'Fetch the catalog': 'Katalog abrufen',
  'Asking for the catalog': 'Der Katalog wird abgefragt',
  'The catalog could not be fetched; the list shows the previous one.':
    'Der Katalog ließ sich nicht abrufen; die Liste zeigt den vorherigen.',
  'No images yet': 'Noch keine Images',
  "An image contains an app with all it needs, for the container engine of the hosts. The catalog is a file in the repository that the server's variable SERVICE_IMAGE_CATALOG_REPO names.":
    'Ein Image enthält eine App mit allem, was sie braucht, für die Container-Engine der Hosts. Der Katalog ist eine Datei in dem Repository, das die Variable SERVICE_IMAGE_CATALOG_REPO des Servers nennt.',
  'Find an image': 'Image suchen',
  'Name or id': 'Name oder ID',
  'No such image': 'Kein solches Image',
  'Nothing matches the filter and the search text.': 'Nichts passt zum Filter und zum Suchtext.',
  'Fetched {time}.': 'Abgerufen: {time}.',
  'Where the catalog comes from': 'Woher der Katalog kommt',
  "The variable SERVICE_IMAGE_CATALOG_REPO in the server's environment chooses the catalog.":
    'Die Variable SERVICE_IMAGE_CATALOG_REPO in der Umgebung des Servers bestimmt den Katalog.',
  Address: 'Adresse',
  'Branch or tag': 'Branch oder Tag',
  Commit: 'Commit',
  'Last change': 'Letzte Änderung',
  'The catalog has {n} images': { one: 'Der Katalog hat {n} Image', other: 'Der Katalog hat {n} Images' },
  '{n} images in the catalog, {installed} installed.': {
    one: '{n} Image im Katalog, {installed} installiert.',
    other: '{n} Images im Katalog, {installed} installiert.',
  },
  '{name} is installed; each host fetches it with the first launch there':
    '{name} ist installiert; jeder Host lädt es beim ersten Start dort',
  '{name} {version} was installed already': '{name} {version} war schon installiert',
  '{name} stays at its version': '{name} bleibt bei seiner Version',
  '{name} stays at {version}': '{name} bleibt bei {version}',
  '{name} may be updated again': '{name} darf wieder aktualisiert werden',
  '{name} was removed from the instance': '{name} wurde aus der Instanz entfernt',
  '{name} is being installed on {n} hosts': {
    one: '{name} wird auf {n} Host installiert',
    other: '{name} wird auf {n} Hosts installiert',
  },
  '{name} {version} is being fetched by {n} hosts': {
    one: '{n} Host lädt {name} {version}',
    other: '{n} Hosts laden {name} {version}',
  },
};
