import { expect, test } from 'vitest';
import { hostSubjects, replicaSubjects } from '../../control-plane/src/fleet/subjects.ts';
import { imageSubjects } from '../../control-plane/src/images/subjects.ts';
import { RETURNED } from '../../control-plane/src/platform/bus/nats.ts';
import { recordingSubjects } from '../../control-plane/src/recordings/subjects.ts';
import { replicaSubjects as sessionReplicaSubjects } from '../../control-plane/src/sessions/replicas/subjects.ts';
import { settingsSubjects } from '../../control-plane/src/settings/subjects.ts';
import { sessionSubjects } from '../../control-plane/src/signaling/subjects.ts';
import { below, read } from './modules.ts';

/** The parts of a schema of an object or of a discriminated union that this check reads. */
interface Schema {
  shape?: object;
  options?: readonly Schema[];
}

const PAGE = 'docs/replicas.md';
const SUBJECTS = [
  ...[hostSubjects, replicaSubjects, imageSubjects, recordingSubjects],
  ...[sessionReplicaSubjects, settingsSubjects, sessionSubjects],
].flatMap((subjects): { name: string; payload: object }[] => Object.values(subjects));

/** Names of a payload's fields. A discriminated union has the fields of all its variants. */
const fieldsOf = ({ shape = {}, options = [] }: Schema): string[] => [
  ...new Set([...Object.keys(shape), ...options.flatMap(fieldsOf)]),
];

test('the documentation lists exactly the subjects of the bus with the fields of their payloads', () => {
  const [, section = ''] = read(PAGE).split('\n## Subjects of the bus\n');
  const documented = [...section.matchAll(/^\| `([a-z_.]+)` *\| ([^|→]*)/gm)].map(([, name, fields = '']) => [
    name,
    [...fields.matchAll(/`(\w+)`/g)].map(([, field]) => field).sort(),
  ]);
  const known = [...SUBJECTS, RETURNED].map(({ name, payload }) => [name, fieldsOf(payload).sort()]);
  expect(documented.sort()).toEqual(known.sort());
});

test('no feature has further subjects', () => {
  const files = below('control-plane/src').filter((file) => file.endsWith('/subjects.ts'));
  const names = files.flatMap((file) =>
    [...read(file).matchAll(/name: '([a-z_.]+)'/g)].map(([, name]) => name),
  );
  expect(names.sort()).toEqual(SUBJECTS.map(({ name }) => name).sort());
});
