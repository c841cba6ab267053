// @vitest-environment happy-dom
import { type Operation, type OperationId, operations } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { appRules } from './apps/app-form-model.ts';
import { tokenRules } from './fleet/enrollment-tokens.tsx';
import { jobRules } from './jobs/job-form-model.ts';
import { inviteRules } from './people/invites-page.tsx';
import { rightsRules } from './people/user-page.tsx';
import { presetRules } from './presets/preset-model.ts';
import { launchProfileRules } from './profiles/launch-profile-model.ts';
import { rungRules } from './profiles/rung-model.ts';
import { figureProblem } from './sessions/preview-model.ts';
import { upkeepRules } from './settings/upkeep-fields.tsx';

type NumberRule = (value: number) => string | null;
type TextRule = (value: string) => string | null;

const NUMBERS = [
  ...[-(2 ** 31), 0, 1, 16, 240, 7680, 10_080, 500_000, 2 ** 31 - 1].flatMap((at) => [
    at - 2,
    at - 1,
    at,
    at + 1,
    at + 2,
  ]),
  0.5,
];
const TEXTS = [
  ...['', '.', '..', '...', '-a', 'a.b-c_9', 'Ä b', '/a', 'a/'],
  ...[63, 128, 200, 1000].flatMap((length) => [
    'a'.repeat(length),
    'a'.repeat(length + 1),
    '🎮'.repeat(length),
    '🎮'.repeat(length + 1),
  ]),
];

/** Whether the server's schema accepts the operation's example with one value replaced. */
function isTaken(id: OperationId, path: readonly string[], value: unknown): boolean {
  const { body, example }: Operation = operations[id];
  const sent = structuredClone(example?.body) as Record<string, unknown>;
  const [field = '', inner] = path;
  sent[field] = inner === undefined ? value : { [inner]: value };
  return body?.schema.safeParse(sent).success ?? false;
}

describe('an administrator’s form refuses exactly the values that the server refuses', () => {
  const { id: rungId, display_name: rungName, ...rungNumbers } = rungRules;
  const { id: profileId, display_name: profileName, sort_order } = launchProfileRules;
  const {
    name: appName,
    args: _args,
    env: _env,
    home_container_path: _home,
    home_base: _base,
    ...appNumbers
  } = appRules;

  test.each<[OperationId, string, NumberRule]>([
    ...fields('streamProfiles.create', rungNumbers),
    ['launchProfiles.create', 'sort_order', sort_order],
    ...fields('apps.create', appNumbers),
    ['invites.create', 'max_uses', inviteRules.max_uses],
    ...fields('settings.update', upkeepRules),
    ...fields('admin.jobs.update', jobRules),
    ['users.update', 'max_concurrent_sessions', rightsRules.max_concurrent_sessions],
    ...(['width', 'height', 'fps', 'bitrate_kbps'] as const).map(
      (figure): [OperationId, string, NumberRule] => [
        'admin.placement.preview',
        `stream.${figure}`,
        (value) => figureProblem(figure, value),
      ],
    ),
  ])('%s: the number %s', (id, field, rule) => {
    const refused = (judge: (value: number) => boolean) => NUMBERS.filter((value) => !judge(value));
    expect(refused((value) => rule(value) === null)).toEqual(
      refused((value) => isTaken(id, field.split('.'), value)),
    );
  });

  test.each<[OperationId, string, TextRule]>([
    ['streamProfiles.create', 'id', rungId],
    ['streamProfiles.create', 'display_name', rungName],
    ['launchProfiles.create', 'id', profileId],
    ['launchProfiles.create', 'display_name', profileName],
    ['apps.create', 'name', appName],
    ['runtimePresets.create', 'name', presetRules.name],
    ['invites.create', 'note', inviteRules.note],
    ['enrollmentTokens.create', 'note', tokenRules.note],
    // An empty field is not sent.
    [
      'enrollmentTokens.create',
      'node_name',
      (value) => (value === '' ? 'empty' : tokenRules.nodeName(value)),
    ],
  ])('%s: the text %s', (id, field, rule) => {
    const refused = (judge: (value: string) => boolean) => TEXTS.filter((value) => !judge(value));
    expect(refused((value) => rule(value) === null)).toEqual(refused((value) => isTaken(id, [field], value)));
  });
});

function fields(id: OperationId, rules: Readonly<Record<string, NumberRule>>) {
  return Object.entries(rules).map(([field, rule]): [OperationId, string, NumberRule] => [id, field, rule]);
}
