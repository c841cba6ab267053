import type { Table } from '../../translate.ts';

/** Versions, backup and upgrade. */
export const about: Table = {
  Version: 'Version',
  Names: 'Namen',
  'The control plane and these pages have this version. Programs use its {api}.':
    'Die Control Plane und diese Seiten haben diese Version. Programme benutzen ihre {api}.',
  'HTTP API': 'HTTP-API',
  Agents: 'Agenten',
  'No host has enrolled.': 'Kein Host ist angemeldet.',
  'Versions of the agents': 'Versionen der Agenten',
  'Not known yet': 'Noch nicht bekannt',
  'Other version': 'Andere Version',
  "To upgrade a host, run the command of {link} on it again. Upgrade the control plane first. The command ends the host's sessions, so drain the host before.":
    'Um einen Host zu aktualisieren, führe auf ihm den Befehl von {link} noch einmal aus. Aktualisiere zuerst die Control Plane. Der Befehl beendet die Sitzungen des Hosts, leere ihn also vorher.',
  'Hosts, Add a host': 'Hosts, Host hinzufügen',
  Backup: 'Sicherung',
  'In the folder of Footlight, this command saves accounts, apps, settings, hosts and sessions to one file. The service can run meanwhile. Save its variables, its certificate and the pictures of apps too; docs/backup.md says where they are.':
    'Im Ordner von Footlight sichert dieser Befehl Konten, Apps, Einstellungen, Hosts und Sitzungen in eine Datei. Der Dienst kann dabei laufen. Sichere auch seine Variablen, sein Zertifikat und die Bilder der Apps; docs/backup.md sagt, wo sie liegen.',
  'command of a backup': 'Befehl für eine Sicherung',
  Upgrade: 'Aktualisierung',
  'Make a backup, stop the service, get the new version with {command}, and run these commands. Sessions continue. CHANGELOG.md lists what changed.':
    'Mache eine Sicherung, halte den Dienst an, hole die neue Version mit {command} und führe diese Befehle aus. Sitzungen laufen weiter. In CHANGELOG.md steht, was sich geändert hat.',
  'command: {command}': 'Befehl: {command}',
  ' and {n} more': { one: ' und {n} weiterer', other: ' und {n} weitere' },
};
