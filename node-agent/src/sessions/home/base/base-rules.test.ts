import { describe, expect, test } from 'vitest';
import { type BaseFacts, decideBase, refuseBasePath, refuseOpenBase } from './base-rules.ts';

const FACTS: BaseFacts = { provider: 'local', home: 'empty', overlayProblem: null, cloneProblem: null };
const NO_OVERLAY = { overlayProblem: 'not root' };
const NO_CLONE = { cloneProblem: 'not supported' };

describe('how a home is opened over its base', () => {
  test.each([
    ['by an overlay where the host can', {}, 'overlay'],
    ['by an overlay, also if the home has files', { home: 'used' }, 'overlay'],
    ['by a copy at the first launch where no overlay is possible', NO_OVERLAY, 'clone'],
    ['not at all if the home is a copy', { home: 'cloned' }, 'keep'],
    [
      'not at all if the home is a copy and no overlay is possible',
      { home: 'cloned', ...NO_OVERLAY },
      'keep',
    ],
    ['by an overlay, even if a copy is not possible', NO_CLONE, 'overlay'],
  ] as const)('%s', (_, facts, kind) => {
    expect(decideBase({ ...FACTS, ...facts })).toEqual({ kind });
  });

  test.each([
    ['neither way is possible', { ...NO_OVERLAY, ...NO_CLONE }, /not root.*not supported/],
    [
      'the home has files, and no overlay is possible',
      { home: 'used', ...NO_OVERLAY },
      /has files.*not root/,
    ],
    ['the home is a volume', { provider: 'volume' }, /volume/],
    ['the home is a volume and no copy', { provider: 'volume', home: 'cloned' }, /volume/],
  ] as const)('refused with the reason if %s', (_, facts, why) => {
    const plan = decideBase({ ...FACTS, ...facts });
    expect(plan.kind === 'refuse' ? plan.why : plan.kind).toMatch(why);
  });
});

describe('a directory is no base', () => {
  const own = { homeRoot: '/srv/homes', stateDir: '/var/lib/agent' };

  test.each(['/srv/homes', '/srv/homes/alice', '/srv', '/var/lib/agent/sessions', '/var/lib'])(
    'if it overlaps with directories of the agent: %s',
    (base) => expect(refuseBasePath(base, own)).toContain('overlaps'),
  );

  test.each(['/srv/games', '/srv/homes-base', '/opt/base'])('%s does not overlap', (base) => {
    expect(refuseBasePath(base, own)).toBeNull();
  });

  const at = (mode: number, uid = 0, gid = 0) => ({ path: '/x', uid, gid, mode });

  test.each([
    ['a directory above it is closed', [at(0o755), at(0o700), at(0o777)], 0, true],
    ['it is closed itself', [at(0o755), at(0o700)], 0, true],
    ['only the group of root may enter', [at(0o755), at(0o750)], 0, true],
    ['another group may enter', [at(0o755), at(0o750, 0, 44)], 0, false],
    ['everybody may enter, but not write', [at(0o755), at(0o755)], 0, false],
    ['it is closed, but belongs to another user', [at(0o755), at(0o700, 1000)], 0, false],
    ['the agent is not root, and the base belongs to root', [at(0o755), at(0o755)], 1000, true],
    ['the agent is not root, and may write', [at(0o755), at(0o777)], 1000, false],
    ['the agent is not root, and owns it', [at(0o755), at(0o555, 1000)], 1000, false],
  ] as const)('%s', (_, directories, agentUid, isAccepted) => {
    expect(refuseOpenBase(directories, agentUid) === null).toBe(isAccepted);
  });
});
