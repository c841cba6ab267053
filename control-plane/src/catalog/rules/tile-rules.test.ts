import { describe, expect, test } from 'vitest';
import { type ParentFacts, refuseParent, refuseRemoval } from './tile-rules.ts';

describe('an app becomes the tile of another', () => {
  const plain: ParentFacts = {
    appId: 'app',
    parentId: 'parent',
    parent: { parent_app_id: null },
    hasTiles: false,
  };

  test.each<[string, Partial<ParentFacts>, string | null]>([
    ['allowed below an app of the first level', {}, null],
    ['allowed for a new app', { appId: null }, null],
    ['refused below itself', { parentId: 'app' }, 'an app is not its own parent'],
    ['refused below an app that does not exist', { parent: null }, 'there is no such app'],
    ['refused below a tile', { parent: { parent_app_id: 'root' } }, 'a tile has no tiles of its own'],
    ['refused while it has tiles', { hasTiles: true }, 'an app with tiles cannot become one'],
    ['with several faults, the first counts', { parent: null, hasTiles: true }, 'there is no such app'],
  ])('%s', (_, change, why) => {
    expect(refuseParent({ ...plain, ...change })).toBe(why === null ? null : `parent_app_id: ${why}`);
  });
});

describe('an app is deleted', () => {
  const tiles = [{ id: 'tile', name: 'Gears' }];
  const unused = { deleteDerived: false, tiles: [], hasLiveSession: false };

  test('alone', () => {
    expect(refuseRemoval(unused)).toBeNull();
  });
  test('not with tiles that the request does not name, which the answer lists', () => {
    expect(refuseRemoval({ ...unused, tiles })).toMatchObject({ code: 'conflict', derived_tiles: tiles });
  });
  test('with its tiles when the request says so', () => {
    expect(refuseRemoval({ ...unused, tiles, deleteDerived: true })).toBeNull();
  });
  test.each([false, true])('never while a session lives (delete_derived=%s)', (deleteDerived) => {
    const refusal = refuseRemoval({ ...unused, deleteDerived, hasLiveSession: true });
    expect(refusal).toMatchObject({ code: 'conflict', message: expect.stringContaining('stop it first') });
    expect(refusal).not.toHaveProperty('derived_tiles');
  });
  test('the tiles are named before the session', () => {
    expect(refuseRemoval({ deleteDerived: false, tiles, hasLiveSession: true })).toMatchObject({
      derived_tiles: tiles,
    });
  });
});
