import type { Codec, EncoderFamily } from '@footlight/protocol';
import type { Readiness } from '@footlight/protocol/agent';
import { type EncoderRow, FAMILY_SOURCES, WITHOUT_ENCODER } from '../media/encode/encoders.ts';
import { PAYLOADING } from '../media/encode/payloading.ts';
import type { EncoderInspection } from '../media/encode/probe-messages.ts';

/**
 * One row of the encoder table on this host. A text in place of the result is the reason why the row could not be
 * inspected.
 */
export interface InspectedRow {
  row: EncoderRow;
  inspection: EncoderInspection | string;
}

/**
 * Checks each family of the encoder table on this host: which elements and properties are missing, and how to install
 * them.
 *
 * Only the family in use can fail, and only if it lacks H.264.
 * @param inUse family of the setting `encoder`
 */
export function encoderTableChecks(rows: readonly InspectedRow[], inUse: EncoderFamily): Readiness[] {
  return (Object.keys(FAMILY_SOURCES) as EncoderFamily[]).map((family) => {
    const own = rows.filter(({ row }) => row.family === family);
    const none = WITHOUT_ENCODER.filter((entry) => entry.family === family);
    const works = own.filter(isThere).length > 0;
    const needed = family === inUse && !own.some((one) => one.row.codec === 'h264' && isThere(one));
    return {
      id: `encoder_table_${family}`,
      status: needed ? 'fail' : works ? 'pass' : 'skip',
      summary: [
        ...own.map(({ row, inspection }) => `${row.codec}: ${rowText(row, inspection)}`),
        ...none.map(({ codec, why }) => `${codec}: none, ${why}`),
      ]
        .join('; ')
        .concat('.'),
      remediation: remedies(family, own),
    };
  });
}

function isThere({ inspection }: InspectedRow): boolean {
  return (
    typeof inspection !== 'string' &&
    inspection.element !== null &&
    inspection.lacking.length === 0 &&
    inspection.problem === null
  );
}

function rowText(row: EncoderRow, inspection: EncoderInspection | string): string {
  if (typeof inspection === 'string') return `not looked at (${inspection})`;
  if (inspection.element === null) return `no ${row.elements.map(({ name }) => name).join(' or ')}`;
  const but = [
    ...inspection.missing.map((name) => `no property ${name}`),
    ...inspection.refused.map((setting) => `does not take ${setting}`),
    ...inspection.lacking.map((name) => `no ${name}`),
    ...(inspection.problem === null ? [] : [inspection.problem]),
  ];
  return but.length === 0 ? inspection.element : `${inspection.element} (${but.join(', ')})`;
}

function remedies(family: EncoderFamily, rows: readonly InspectedRow[]): string[] {
  const source = FAMILY_SOURCES[family];
  const packages = new Set<string>();
  const hints = new Set<string>();
  for (const { row, inspection } of rows) {
    if (typeof inspection === 'string') continue;
    for (const name of inspection.lacking) packages.add(packageOf(row.codec, name) ?? source.package);
    if (inspection.element !== null) continue;
    const since = row.elements.map((element) => element.since).sort(byRelease)[0] ?? '';
    if (!inspection.plugin) packages.add(source.package);
    else if (byRelease(inspection.gstreamer, since) < 0) {
      hints.add(`${family} ${row.codec} needs GStreamer ${since} or later; this is ${inspection.gstreamer}.`);
    } else if (source.driver) {
      hints.add(
        `The plugin ${source.plugin} offers its encoders where there is ${source.driver.what}; the packages: ${source.driver.packages.join(', or ')}.`,
      );
    }
  }
  return [...(packages.size > 0 ? [`apt-get install ${[...packages].join(' ')}`] : []), ...hints];
}

function packageOf(codec: Codec, element: string): string | undefined {
  return PAYLOADING[codec].elements.find(({ name }) => name === element)?.package;
}

/** Compares releases such as "1.22.0" and "1.4" number by number. */
function byRelease(a: string, b: string): number {
  const [left, right] = [a, b].map((release) => release.split('.').map(Number));
  for (let index = 0; index < 2; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
