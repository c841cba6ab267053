import { z } from 'zod';
import { openCode, uuid } from '../../common.ts';
import { body, idParams, madeId } from '../atoms.ts';
import type { ErrorCode } from '../errors.ts';
import { exampleIds } from '../example-ids.ts';
import { launchFields } from '../launch-request.ts';
import { operation } from '../operation.ts';
import { codecDecision } from '../sessions.ts';

const previewBody = body({
  ...launchFields,
  user_id: uuid.describe('Id of the account to judge as, its role included.'),
});

export const placementRule = z.enum([
  'online',
  'capacity_detection',
  'runtime',
  'encoder_binding',
  'pin',
  'image',
  'slots',
  'vram',
]);

const fact = z.union([z.string(), z.number()]).nullable();

/** Why a GPU cannot be used: its value, and the value that is needed. */
export const placementRefusal = z
  .object({
    host_id: madeId.describe('Id of the host.'),
    node_name: z.string().describe('Name of the host.'),
    gpu_id: madeId.nullable().describe('Id of the GPU; null where the host has none on record.'),
    rule: placementRule.describe('The first rule that it breaks.'),
    have: fact.describe('What it has, in the unit of the rule: slots, or MB of video memory; null: nothing.'),
    need: fact.describe('What the launch needs of it; null: nothing in particular.'),
  })
  .meta({ id: 'PlacementRefusal', description: 'Why one GPU could not take a launch.' });
export type PlacementRefusal = z.output<typeof placementRefusal>;

const placementCandidate = z
  .object({
    host_id: madeId.describe('Id of the host.'),
    node_name: z.string().describe('Name of the host.'),
    gpu_id: madeId.describe('Id of the GPU.'),
    gpu_index: z.int().describe('Its number on the host, from 0.'),
    free_slots: z.int().describe('Encode slots that nobody holds.'),
    vram_mb_free: z.int().nullable().describe('Free video memory in MB by a fresh sample; null: not known.'),
    active_sessions: z.int().describe('Sessions that hold a place on it.'),
  })
  .meta({ id: 'PlacementCandidate', description: 'A GPU that could take a launch.' });

/** Result of a launch or preview, with the reasons. */
export const placement = z
  .object({
    outcome: openCode<'placed' | ErrorCode>().describe('`placed`, or the error code of the launch.'),
    status: z.int().describe('HTTP status of the launch.'),
    candidates: z
      .array(placementCandidate)
      .describe(
        'GPUs that could take it, in the order in which they are tried; empty where it is refused before.',
      ),
    refusals: z
      .array(placementRefusal)
      .describe('GPUs that could not, each with the first rule that it breaks.'),
    codec_decision: codecDecision
      .nullable()
      .describe('Why this codec on the first candidate; null where nothing had to be decided.'),
  })
  .meta({ id: 'Placement', description: 'Where a launch is placed, and why no other GPU was chosen.' });
export type Placement = z.output<typeof placement>;

const examplePlacement = {
  outcome: 'placed',
  status: 201,
  candidates: [
    {
      host_id: exampleIds.host,
      node_name: 'node-1',
      gpu_id: exampleIds.gpu,
      gpu_index: 0,
      free_slots: 3,
      vram_mb_free: 6144,
      active_sessions: 1,
    },
  ],
  refusals: [
    {
      host_id: '7c9d2f60-1a4b-4c3d-9e8f-0a1b2c3d4e5f',
      node_name: 'node-2',
      gpu_id: '3f2a1b0c-9d8e-4f7a-8b6c-5d4e3f2a1b0c',
      rule: 'slots',
      have: 0,
      need: 1,
    },
  ],
  codec_decision: {
    result_rung: '1080p60-h264',
    result_codec: 'h264',
    override: null,
    floor: false,
    considered: [
      {
        rung_id: '1080p60-av1',
        codec: 'av1',
        rejected_by: 'host_encoder',
        selected: false,
        clamps_bypassed: [],
      },
      {
        rung_id: '1080p60-h264',
        codec: 'h264',
        rejected_by: null,
        selected: true,
        clamps_bypassed: [],
      },
    ],
  },
};

export const placementOperations = {
  'admin.sessions.placement': operation({
    id: 'admin.sessions.placement',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/placement',
    auth: 'admin',
    summary: 'Why a session runs where it runs, as it was decided at its launch',
    description:
      'Kept with the session, and no longer than it: what the launch judged, at most 16 candidates and 48 refusals. A preview also names hosts without a GPU.',
    params: idParams,
    responses: { 200: placement },
    refusals: { not_found: 'There is no such session, or nothing was kept of its placement.' },
    example: { params: { id: exampleIds.session }, response: examplePlacement },
  }),
  'admin.placement.preview': operation({
    id: 'admin.placement.preview',
    method: 'POST',
    path: '/v1/admin/placement/preview',
    auth: 'admin',
    summary: 'Preview the placement of a launch',
    description:
      'Judges as the launch itself would, and writes, locks and reserves nothing: a launch that follows may find another fleet.',
    body: { schema: previewBody },
    responses: { 200: placement },
    refusals: { not_found: 'There is no such account.' },
    example: {
      body: { app_id: exampleIds.app, user_id: exampleIds.alice },
      response: examplePlacement,
    },
  }),
} as const;
