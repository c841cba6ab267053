import { CONTROL_SERVICE, DATA_DIR } from './unit.ts';

/** Facts about a restore of a SQLite database. */
export interface RestoreFacts {
  /** Path of the database. */
  file: string;
  isRoot: boolean;
  isSystemd: boolean;
  /** Whether systemd made DATA_DIR for the service: then DATA_DIR is a link to a directory that only root may enter. */
  isServiceFolder: boolean;
}

/**
 * Who restores: the user of the service, or the owner of the folder. Root does not, because the owner of the folder
 * could lead root to other files. Pure.
 */
export function decideRestore({ file, isRoot, isSystemd, isServiceFolder }: RestoreFacts) {
  const isOfService = isRoot && isSystemd && isServiceFolder && file.startsWith(`${DATA_DIR}/`);
  return isOfService ? 'as_service' : 'as_owner';
}

/**
 * What the operator does after a restore of the service's database. Pure.
 * @param folders folders that a backup does not contain; certificates null: the service has none
 */
export function restoreSteps({
  certificates,
  pictures,
}: {
  certificates: string | null;
  pictures: string;
}): string {
  const copied = [
    ...(certificates === null ? [] : [`the certificate ${certificates}`]),
    `the pictures ${pictures}`,
  ];
  return [
    'Next steps:',
    `1. On another machine than before, copy back ${copied.join(' and ')}, then:`,
    `   sudo chown -R --reference=${DATA_DIR}/. ${DATA_DIR}/.`,
    '2. Only if the backup contains secrets: set their former key SERVICE_SECRET_KEY in /etc/footlight/control.env.',
    `3. sudo systemctl start ${CONTROL_SERVICE.replace('.service', '')}`,
  ].join('\n');
}
