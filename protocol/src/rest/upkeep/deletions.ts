import { z } from 'zod';
import { idParams } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

/** Kinds of records whose deletion also deletes records that depend on them. */
export const deletionKinds = ['app', 'host', 'user', 'entitlement'] as const;
export type DeletionKind = (typeof deletionKinds)[number];

const number = z.int();

const deletionEffect = z
  .object({
    kind: z.enum(deletionKinds).describe('What the id names.'),
    sessions: number.describe('Past and running sessions of it, which go at once; 0 for a grant.'),
    homes: number.describe(
      'Homes of it. Those of an app or an account are deleted by their hosts a day later; those of a host stay on its machine and are no longer listed.',
    ),
    home_bytes: number.describe('What these homes take, in bytes, as their hosts last measured.'),
    entitlements: number.describe('Grants of an app or its tiles, or of an account; 0 for a host.'),
    favourites: number.describe(
      'Marks as a favourite, of an app or its tiles, or by an account; 0 for a host.',
    ),
    tiles: number.describe('Tiles of an app; 0 for others.'),
    devices: number.describe('Devices of an account; 0 for others.'),
    invites: number.describe('Invites that an account made; 0 for others.'),
    people: number.describe('Accounts that lose the app with the grant; 0 for others.'),
    running: number.describe('Running sessions of the app by these accounts, which go on; 0 for others.'),
  })
  .meta({ id: 'DeletionEffect', description: 'What is deleted along with a thing.' });
export type DeletionEffect = z.output<typeof deletionEffect>;

export const deletionOperations = {
  'admin.deletions.read': operation({
    id: 'admin.deletions.read',
    method: 'GET',
    path: '/v1/admin/deletions/{id}',
    auth: 'admin',
    summary: 'What a deletion would delete along with the thing itself',
    description:
      'Of an app, a host, an account or a grant, whose ids are all different. Counts only; asking changes nothing.',
    params: idParams,
    responses: { 200: deletionEffect },
    refusals: { not_found: 'There is no such app, host, account or grant.' },
    example: {
      params: { id: exampleIds.app },
      response: {
        kind: 'app',
        sessions: 128,
        homes: 3,
        home_bytes: 73_400_320,
        entitlements: 4,
        favourites: 2,
        tiles: 0,
        devices: 0,
        invites: 0,
        people: 0,
        running: 0,
      },
    },
  }),
} as const;
