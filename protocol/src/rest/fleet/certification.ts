import { z } from 'zod';
import { bitrateKbps, codec, encoderFamily, uuid } from '../../common.ts';
import { body, dateTime, idParams, int32, madeId, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

/**
 * Largest number of profiles and of bitrates in one run. A run does not have time for all combinations of that many
 * values. Chosen, not measured.
 */
const MAX_LISTED = 64;
/** Largest number of session counts in a curve. An agent never reports more slots of a GPU. */
const MAX_CURVE = 64;
/** Largest index of a host's GPU. */
const MAX_GPU_INDEX = 15;

const gpuIndex = int32(0).describe('Place of the GPU among those of the host, from 0.');
const encoder = encoderFamily.describe('Encoder family that is measured.');
const rungId = string({ max: 128 }).describe('Id of the rung.');
const profileId = z.string().describe('Launch profile that the rung was measured for.');

export const certificationVerdict = z.enum(['ok', 'capped', 'unsafe']);
export type CertificationVerdict = z.output<typeof certificationVerdict>;

/** A verdict and the values on which it is based. A finalized cell and a stored row both contain them. */
const measured = {
  verdict: certificationVerdict.describe(
    '`ok`: the encoder keeps up with room to spare. `capped`: barely. `unsafe`: too slow, or it drops frames.',
  ),
  encode_ms_p50: z.number().describe('Median of the time to encode a frame, ms.'),
  encode_ms_p95: z.number().describe('95th percentile of that time, ms.'),
  encode_ms_max: z.number().describe('Longest such time, ms.'),
  output_fps: z.number().describe('Mean of the encoded frames per second.'),
  drop_rate: z.number().describe('Frames dropped per sample; may exceed 1.'),
  live_write_stable: z.boolean().describe('Whether the bitrate could be changed while the encoder ran.'),
};
const sampleCount = z.int().describe('Samples that count: those after the first six seconds.');

const certification = z
  .object({
    id: madeId.describe('Id of the row; a newer measurement keeps it.'),
    gpu_index: z.int().describe('Place of the GPU among those of the host, from 0.'),
    encoder,
    profile_id: profileId,
    stream_profile_id: z.string().describe('The rung that was measured.'),
    width: z.int().describe('Width in pixels.'),
    height: z.int().describe('Height in pixels.'),
    fps: z.int().describe('Frames per second that were asked for.'),
    bitrate_kbps: z.int().describe('Bitrate that was asked for, kbit/s.'),
    ...measured,
    sample_window_ms: z.int().describe('From the first to the last sample that counts, ms.'),
    sample_count: sampleCount,
    agent_version: z.string().describe('Version of the agent that measured; "" if it was never reported.'),
    measured_at: dateTime.describe('When the verdict was made. It counts for seven days.'),
  })
  .meta({
    id: 'Certification',
    description: 'The newest verdict on one rung, bitrate and encoder of a GPU.',
  });
export type Certification = z.output<typeof certification>;

const cellPlan = z
  .object({
    profile_id: profileId,
    stream_profile_id: z.string().describe('The rung to measure.'),
    codec: codec.describe('Its codec, as sessions spell it.'),
    bitrate_kbps: z.int().describe('The bitrate to measure it at, kbit/s.'),
  })
  .meta({ id: 'CertificationCellPlan', description: 'A measurement that a run plans.' });

const runStatus = z.enum(['running', 'completed', 'failed']);

const run = z
  .object({
    run_id: madeId.describe('Id of the run.'),
    host_id: madeId.describe('Id of the host.'),
    status: runStatus.describe('`failed`: the host went away, or two hours passed.'),
    started_at: dateTime.describe('When it was planned.'),
    ended_at: dateTime.nullable().describe('When it was completed or failed; null while it runs.'),
    error_message: z.string().nullable().describe('Why it failed; null otherwise.'),
    completed_pts: z.int().describe('Cells that got a verdict.'),
    total_pts: z.int().describe('Cells that were planned.'),
    summary_ok: z.int().describe('Verdicts `ok`.'),
    summary_capped: z.int().describe('Verdicts `capped`.'),
    summary_unsafe: z.int().describe('Verdicts `unsafe`.'),
  })
  .meta({ id: 'CertificationRun', description: 'How far a run came.' });
export type CertificationRun = z.output<typeof run>;

const plannedRun = z
  .object({
    run_id: madeId.describe('Id of the run.'),
    host_id: madeId.describe('Id of the host.'),
    status: runStatus.describe('`running`.'),
    started_at: dateTime.describe('When it was planned.'),
    total_pts: z.int().describe('Number of the cells.'),
    encoder,
    gpu_index: z.int().describe('Place of the GPU among those of the host, from 0.'),
    cells: z.array(cellPlan).describe('What to measure, in this order.'),
  })
  .meta({ id: 'PlannedCertificationRun', description: 'A run with its cells.' });
export type PlannedCertificationRun = z.output<typeof plannedRun>;

const startedCell = z
  .object({
    session_id: madeId.describe('Session of the cell, which runs.'),
    host_id: madeId.describe('Id of the host.'),
    profile_id: profileId,
    stream_profile_id: z.string().describe('The rung that is measured.'),
    codec: codec.describe('Its codec, as sessions spell it.'),
    bitrate_kbps: z.int().describe('Bitrate of the cell, kbit/s.'),
    width: z.int().describe('Width in pixels.'),
    height: z.int().describe('Height in pixels.'),
    fps: z.int().describe('Frames per second.'),
    budget_ms: z.number().describe('Time from one frame to the next, ms.'),
    signaling_url: z.string().describe('Address of the signaling socket. No viewer is needed.'),
    signaling_token: z.string().describe('Token for one connection to it; ends after a minute.'),
  })
  .meta({ id: 'CertificationCell', description: 'A running measurement.' });
export type CertificationCell = z.output<typeof startedCell>;

const finalizedCell = z
  .object({
    session_id: madeId.describe('Session of the cell, which is stopped.'),
    profile_id: profileId,
    stream_profile_id: z.string().describe('The rung that was measured.'),
    codec: codec.describe('Its codec, as sessions spell it.'),
    bitrate_kbps: z.int().describe('Bitrate of the cell, kbit/s.'),
    ...measured,
    sample_count: sampleCount,
  })
  .meta({ id: 'FinalizedCertificationCell', description: 'The verdict of a cell.' });
export type FinalizedCertificationCell = z.output<typeof finalizedCell>;

const curvePoint = z
  .object({
    n: int32(1).describe('Sessions at once.'),
    encode_ms_p95: z
      .number()
      .min(0)
      .describe('95th percentile of the time to encode a frame, of the slowest session, ms.'),
    output_fps: z.number().min(0).describe('Encoded frames per second of the slowest session.'),
  })
  .meta({ id: 'ConcurrencyPoint', description: 'Measurement with this number of sessions at once.' });
export type ConcurrencyPoint = z.output<typeof curvePoint>;

const curve = z
  .array(curvePoint)
  .min(1)
  .max(MAX_CURVE)
  .refine((points) => points.every((point, i) => i === 0 || point.n > (points[i - 1]?.n ?? 0)), {
    error: 'n must ascend',
  });

const concurrency = z
  .object({
    gpu_index: z.int().describe('Place of the GPU among those of the host, from 0.'),
    encoder,
    stream_profile_id: z.string().describe('The rung that was measured.'),
    bitrate_kbps: z.int().describe('Bitrate of each session, kbit/s.'),
    sessions: z
      .int()
      .describe('The most sessions at once that kept within the time of a frame; 0: not even one.'),
    curve: z.array(curvePoint).describe('What was measured, by number of sessions.'),
    measured_at: dateTime.describe('When it was filed.'),
  })
  .meta({
    id: 'Concurrency',
    description: 'How many sessions of one rung and bitrate a GPU encodes at once.',
  });
export type Concurrency = z.output<typeof concurrency>;

const BASE = '/v1/admin/hosts/{id}/encoder-certification';
const NO_HOST = 'There is no such host.';
const byHost = { id: exampleIds.host };
const runParams = idParams.extend({ run_id: uuid.describe('Id of the run.') });
const cellParams = idParams.extend({ session_id: uuid.describe('Session of the cell.') });

/** A filter for a whole number; any other text is refused. */
const wholeNumber = z
  .string()
  .regex(/^[0-9]{1,9}$/, { error: 'must be a whole number' })
  .transform(Number)
  .meta({ type: 'integer', minimum: 0 });

const exampleMeasured = {
  verdict: 'ok',
  encode_ms_p50: 5.1,
  encode_ms_p95: 7.9,
  encode_ms_max: 11.2,
  output_fps: 59.8,
  drop_rate: 0,
  live_write_stable: true,
} as const;
const exampleCell = {
  profile_id: '720p60',
  stream_profile_id: '720p60-h264',
  codec: 'h264',
  bitrate_kbps: 6000,
} as const;
const exampleRun = {
  run_id: exampleIds.certificationRun,
  host_id: exampleIds.host,
  status: 'running',
  started_at: '2026-11-20T10:00:00.000Z',
  ended_at: null,
  error_message: null,
  completed_pts: 3,
  total_pts: 12,
  summary_ok: 2,
  summary_capped: 1,
  summary_unsafe: 0,
} as const;
const exampleConcurrency = {
  gpu_index: 0,
  encoder: 'openh264',
  stream_profile_id: '720p60-h264',
  bitrate_kbps: 6000,
  sessions: 2,
  curve: [
    { n: 1, encode_ms_p95: 7.9, output_fps: 59.8 },
    { n: 2, encode_ms_p95: 14.6, output_fps: 59.1 },
    { n: 3, encode_ms_p95: 24.3, output_fps: 44.7 },
  ],
  measured_at: '2026-11-20T10:20:00.000Z',
};
const NO_RUN = 'There is no such host, or no such run of it.';

export const certificationOperations = {
  'certification.list': operation({
    id: 'certification.list',
    method: 'GET',
    path: BASE,
    auth: 'admin',
    summary: 'What the encoders of a host can sustain',
    description:
      'The newest verdict of each GPU, encoder, rung and bitrate, ordered by profile, rung, GPU, encoder and bitrate. A launch steps down from a rung whose verdict is `unsafe`.',
    params: idParams,
    query: z.object({
      gpu_index: wholeNumber.optional().describe('Only of this GPU.'),
      encoder: encoderFamily.optional().describe('Only of this encoder family.'),
      profile_id: string({ max: 128 }).optional().describe('Only of this launch profile.'),
      stream_profile_id: string({ max: 128 }).optional().describe('Only of this rung.'),
      max_age_s: wholeNumber.optional().describe('Only verdicts that are not older, in seconds.'),
    }),
    responses: {
      200: z.object({
        host_id: madeId.describe('Id of the host.'),
        certifications: z.array(certification).describe('Empty where nothing was measured.'),
      }),
    },
    refusals: { not_found: NO_HOST },
    example: {
      params: byHost,
      query: { encoder: 'openh264', max_age_s: '604800' },
      response: {
        host_id: exampleIds.host,
        certifications: [
          {
            id: exampleIds.certification,
            gpu_index: 0,
            encoder: 'openh264',
            profile_id: '720p60',
            stream_profile_id: '720p60-h264',
            width: 1280,
            height: 720,
            fps: 60,
            bitrate_kbps: 6000,
            ...exampleMeasured,
            sample_window_ms: 18_000,
            sample_count: 19,
            agent_version: '0.1.0',
            measured_at: '2026-11-20T10:01:00.000Z',
          },
        ],
      },
    },
  }),
  'certification.startRun': operation({
    id: 'certification.startRun',
    method: 'POST',
    path: `${BASE}/runs`,
    auth: 'admin',
    summary: 'Plan the measurements of a host',
    description:
      'Expands profiles and bitrates to cells and counts their verdicts. The caller starts and finalizes each cell.',
    params: idParams,
    body: {
      schema: body({
        gpu_index: int32(0, MAX_GPU_INDEX).default(0).describe('Place of the GPU, from 0; left out: 0.'),
        encoder: encoderFamily
          .optional()
          .describe('Encoder family; left out: the one that the host uses, else openh264.'),
        profiles: z
          .array(string({ max: 128 }))
          .max(MAX_LISTED)
          .default(['1080p60', '720p60', '720p30'])
          .describe('Launch profiles, of which all rungs count, or ids of rungs. Unknown ones are skipped.'),
        bitrates_kbps: z
          .array(bitrateKbps)
          .max(MAX_LISTED)
          .default([4000, 6000, 8000, 12_000])
          .describe('Bitrates for each rung, kbit/s.'),
      }),
      optional: true,
    },
    responses: { 201: plannedRun },
    refusals: {
      not_found: NO_HOST,
      conflict: 'The host is not online, or another run of it is under way; `error.run_id` names that run.',
    },
    example: {
      params: byHost,
      body: { profiles: ['720p60'], bitrates_kbps: [6000] },
      response: {
        run_id: exampleIds.certificationRun,
        host_id: exampleIds.host,
        status: 'running',
        started_at: '2026-11-20T10:00:00.000Z',
        total_pts: 1,
        encoder: 'openh264',
        gpu_index: 0,
        cells: [exampleCell],
      },
    },
  }),
  'certification.readRun': operation({
    id: 'certification.readRun',
    method: 'GET',
    path: `${BASE}/runs/{run_id}`,
    auth: 'admin',
    summary: 'How far a run came',
    params: runParams,
    responses: { 200: run },
    refusals: { not_found: NO_RUN },
    example: { params: { ...byHost, run_id: exampleIds.certificationRun }, response: exampleRun },
  }),
  'certification.completeRun': operation({
    id: 'certification.completeRun',
    method: 'POST',
    path: `${BASE}/runs/{run_id}/complete`,
    auth: 'admin',
    summary: 'End a run',
    description: 'A second time changes nothing, and a failed run stays failed.',
    params: runParams,
    responses: { 200: run },
    refusals: { not_found: NO_RUN },
    example: {
      params: { ...byHost, run_id: exampleIds.certificationRun },
      response: { ...exampleRun, status: 'completed', ended_at: '2026-11-20T10:08:00.000Z' },
    },
  }),
  'certification.startCell': operation({
    id: 'certification.startCell',
    method: 'POST',
    path: `${BASE}/cells`,
    auth: 'admin',
    summary: 'Start one measurement',
    description:
      'Answers when its session runs, which may take two minutes. Let it run for 25 s, then finalize it. A cell that is not finalized within ten minutes is stopped without a verdict.',
    params: idParams,
    body: {
      schema: body({
        gpu_index: gpuIndex,
        encoder,
        bitrate_kbps: bitrateKbps.describe('Bitrate to hold, kbit/s.'),
        stream_profile_id: rungId.optional(),
        profile_id: string({ max: 128 })
          .optional()
          .describe('Without a rung: the first H.264 rung of this launch profile is measured.'),
        concurrent: z
          .boolean()
          .default(false)
          .describe('Start it while other cells run; left out: refused while one does.'),
      }),
    },
    responses: { 201: startedCell },
    refusals: {
      not_found: NO_HOST,
      conflict:
        'The host is not online or has no room, cannot encode the codec, or runs another cell; there is no app for measurements; or the session did not run within two minutes.',
    },
    example: {
      params: byHost,
      body: { gpu_index: 0, encoder: 'openh264', bitrate_kbps: 6000, stream_profile_id: '720p60-h264' },
      response: {
        session_id: exampleIds.session,
        host_id: exampleIds.host,
        ...exampleCell,
        width: 1280,
        height: 720,
        fps: 60,
        budget_ms: 16.666666666666668,
        signaling_url: 'wss://play.example.org:8443/v1/signal',
        signaling_token: '8f14e45fceea167a5a36dedd4bea2543a51d9e9a9d7f2c54a1ce1b1f2b7c9d10',
      },
    },
  }),
  'certification.finalizeCell': operation({
    id: 'certification.finalizeCell',
    method: 'POST',
    path: `${BASE}/cells/{session_id}/finalize`,
    auth: 'admin',
    summary: 'End a measurement with its verdict',
    description:
      'Derives the verdict from what the host measured, stores it, counts it in the run of the host and stops the session, whatever the outcome.',
    params: cellParams,
    responses: { 200: finalizedCell },
    refusals: {
      not_found: 'There is no such host, or the session is no cell of it that waits for its verdict.',
      conflict: 'No usable samples came: the cell ran for too short a time.',
    },
    example: {
      params: { ...byHost, session_id: exampleIds.session },
      response: { session_id: exampleIds.session, ...exampleCell, ...exampleMeasured, sample_count: 19 },
    },
  }),
  'certification.concurrency': operation({
    id: 'certification.concurrency',
    method: 'GET',
    path: `${BASE}/concurrency`,
    auth: 'admin',
    summary: 'How many sessions at once the GPUs of a host encode',
    description: 'Ordered by GPU, encoder, rung and bitrate.',
    params: idParams,
    responses: {
      200: z.object({
        host_id: madeId.describe('Id of the host.'),
        items: z.array(concurrency).describe('Empty where nothing was measured.'),
      }),
    },
    refusals: { not_found: NO_HOST },
    example: {
      params: byHost,
      response: { host_id: exampleIds.host, items: [exampleConcurrency] },
    },
  }),
  'certification.putConcurrency': operation({
    id: 'certification.putConcurrency',
    method: 'PUT',
    path: `${BASE}/concurrency`,
    auth: 'admin',
    summary: 'File how many sessions at once a GPU encodes',
    description: 'Replaces what was filed for the same GPU, encoder, rung and bitrate.',
    params: idParams,
    body: {
      schema: body({
        gpu_index: gpuIndex,
        encoder,
        stream_profile_id: rungId,
        bitrate_kbps: bitrateKbps.describe('Bitrate of each session, kbit/s.'),
        sessions: int32(0).describe('The most sessions at once that passed; 0: not even one.'),
        curve: curve.describe('What was measured, by number of sessions, ascending.'),
      }),
    },
    responses: { 200: concurrency },
    refusals: { not_found: NO_HOST },
    example: {
      params: byHost,
      body: (({ measured_at: _, ...sent }) => sent)(exampleConcurrency),
      response: exampleConcurrency,
    },
  }),
} as const;
