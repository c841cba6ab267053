import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HomeOwner, localHomeRef, slug, volumeRef } from './refs.ts';

const alice: HomeOwner = {
  userId: '11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
  username: 'Alice',
  appId: '22222222-bbbb-4bbb-8bbb-bbbbbbbbbbbb',
  appName: 'Space Game!',
};

describe('slug', () => {
  test.each([
    ['Alice', 'alice'],
    ['Ä b/c', 'b-c'],
    ['..', ''],
    ['---', ''],
    ['-a-', 'a'],
    ['x'.repeat(60), 'x'.repeat(40)],
    ['under_score-1', 'under_score-1'],
  ])('%s → %s', (name, expected) => {
    expect(slug(name)).toBe(expected);
  });
});

describe('the place of a home', () => {
  test('is readable and carries both ids', () => {
    expect(localHomeRef('/srv/homes/', alice, false)).toBe('/srv/homes/alice-11111111/space-game-22222222');
  });

  test('carries whole ids where the short form is taken', () => {
    expect(localHomeRef('/srv/homes', alice, true)).toBe(
      `/srv/homes/alice-${alice.userId}/space-game-${alice.appId}`,
    );
  });

  test('has nothing before the suffix when the name leaves nothing', () => {
    expect(localHomeRef('/h', { ...alice, username: '日本', appName: '..' }, false)).toBe(
      '/h/11111111/22222222',
    );
  });

  test('cannot be formed below a relative root or over the length of an assignment', () => {
    expect(localHomeRef('homes', alice, false)).toBeNull();
    expect(localHomeRef(`/${'r'.repeat(500)}`, alice, false)).toBeNull();
  });

  test('of a volume follows from the home', () => {
    expect(volumeRef('id')).toBe('service-home-id');
  });

  const owner = fc.record({
    userId: fc.uuid(),
    username: fc.string({ unit: 'binary' }),
    appId: fc.uuid(),
    appName: fc.string({ unit: 'binary' }),
  });

  test('is never shared by two owners and always lies below the root', () => {
    fc.assert(
      fc.property(owner, owner, (a, b) => {
        fc.pre(a.userId !== b.userId || a.appId !== b.appId);
        const [refA, refB] = [localHomeRef('/srv/homes', a, true), localHomeRef('/srv/homes', b, true)];
        for (const ref of [refA, refB]) {
          expect(ref).toMatch(/^\/srv\/homes\/[a-z0-9_-]+\/[a-z0-9_-]+$/);
        }
        expect(refA).not.toBe(refB);
      }),
    );
  });
});
