import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { hostSubjects, replicaSubjects } from './fleet/subjects.ts';
import { imageSubjects } from './images/subjects.ts';
import { RETURNED } from './platform/bus/nats.ts';
import { recordingSubjects } from './recordings/subjects.ts';
import { replicaSubjects as sessionReplicaSubjects } from './sessions/replicas/subjects.ts';
import { settingsSubjects } from './settings/subjects.ts';
import { sessionSubjects } from './signaling/subjects.ts';

/** The parts of a schema of an object or of a discriminated union that this check reads. */
interface Schema {
  shape?: object;
  options?: readonly Schema[];
}

const PAGE = new URL('../../docs/replicas.md', import.meta.url);
const SOURCES = new URL('.', import.meta.url);
const SUBJECTS = [
  ...[hostSubjects, replicaSubjects, imageSubjects, recordingSubjects],
  ...[sessionReplicaSubjects, settingsSubjects, sessionSubjects],
].flatMap((subjects): { name: string; payload: object }[] => Object.values(subjects));

/** Names of a payload's fields. A discriminated union has the fields of all its variants. */
const fieldsOf = ({ shape = {}, options = [] }: Schema): string[] => [
  ...new Set([...Object.keys(shape), ...options.flatMap(fieldsOf)]),
];

test('the documentation lists exactly the subjects of the bus with the fields of their payloads', () => {
  const [, section = ''] = readFileSync(PAGE, 'utf8').split('\n## Subjects of the bus\n');
  const documented = [...section.matchAll(/^\| `([a-z_.]+)` *\| ([^|→]*)/gm)].map(([, name, fields = '']) => [
    name,
    [...fields.matchAll(/`(\w+)`/g)].map(([, field]) => field).sort(),
  ]);
  const known = [...SUBJECTS, RETURNED].map(({ name, payload }) => [
    name,
    fieldsOf(payload as Schema).sort(),
  ]);
  expect(documented.sort()).toEqual(known.sort());
});

test('no feature has further subjects', () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('/subjects.ts'),
  );
  const names = files.flatMap((file) =>
    [...readFileSync(new URL(file, SOURCES), 'utf8').matchAll(/name: '([a-z_.]+)'/g)].map(([, name]) => name),
  );
  expect(names.sort()).toEqual(SUBJECTS.map(({ name }) => name).sort());
});
