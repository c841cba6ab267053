import path from 'node:path';
import { CONTROL_SERVICE } from './unit.ts';

/**
 * Words of systemd-run(1) that run a program as the service's user, in its state directory. systemd creates the
 * directory if it is missing, and gives it to this user. The service must be stopped.
 * @param properties properties of the transient unit, as NAME=VALUE
 */
export function serviceRunWords(properties: readonly string[], command: readonly string[]): string[] {
  const fixed = [
    'DynamicUser=yes',
    `User=${path.parse(CONTROL_SERVICE).name}`,
    'StateDirectory=service-control',
    'UMask=0077',
  ];
  return [
    ...['--quiet', '--wait', '--pipe'],
    ...[...fixed, ...properties].map((property) => `--property=${property}`),
    ...command,
  ];
}
