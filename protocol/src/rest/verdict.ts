import { z } from 'zod';
import { openCode } from '../common.ts';
import type { NetworkPath } from '../telemetry/index.ts';
import { idParams, windowQuery } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';

/** The cause that limited a session in a window of time. */
export type VerdictName =
  | 'likely_encoder_saturation'
  | 'likely_network_congestion'
  | 'likely_client_presentation_limit'
  | 'indeterminate_client_hidden'
  | 'nominal'
  | 'unknown';

const estimator = z.enum(['p10', 'p95', 'max', 'delta', 'mean', 'any', 'count_ge_threshold']);
/** How one value is computed from the points of a series. */
export type Estimator = z.output<typeof estimator>;

/** One condition of a verdict, with its threshold. A verdict is wrong if a condition that it is based on is false. */
export const falsifier = z
  .object({
    name: z.string().describe('Series that was judged, such as `encoder.fps`.'),
    estimator: estimator.describe(
      'How its points became one value: percentiles by linear interpolation; `delta`: the sum of the steps upwards, of at least two points; `any`: 1 where a point is not 0; `count_ge_threshold`: the points at or over the limit of the condition `max` of the same series.',
    ),
    value: z.number().nullable().describe('The value, in `unit`; null: nothing was measured.'),
    op: z.enum(['>=', '<=', '>', '<', '==']).describe('How the value is compared with the threshold.'),
    threshold: z
      .number()
      .describe('The threshold, in `unit`, where it depends on the frame rate for that of the session.'),
    unit: z
      .enum(['fps', 'ms', 'count', 'bool', 'fraction'])
      .describe('Unit of value and threshold; `bool` is 0 or 1.'),
    n: z.int().describe('Points behind the value; 0: none.'),
    holds: z.boolean().describe('The condition holds; false without a value.'),
    note: z.string().optional().describe('A remark, such as `no samples`; left out: none.'),
  })
  .meta({ id: 'Falsifier', description: 'A condition of a verdict, with the measured value.' });
export type Falsifier = z.output<typeof falsifier>;

/** Quality of a session in a window of time, from its owner's point of view. */
const sessionReport = z
  .object({
    played_ms: z
      .int()
      .nullable()
      .describe(
        'From the first time it ran to its end, or to the end of the window while it goes on, in milliseconds; null: it never ran.',
      ),
    seconds: z
      .int()
      .describe('Seconds of the window in which the page was visible, without the warm-up; 0: not measured.'),
    smooth_fraction: z
      .number()
      .nullable()
      .describe('Share of these seconds without a hitch, 0 to 1; null: not measured.'),
    clicks: z.int().describe('Clicks and keys of the window whose answer in the picture was measured.'),
    click_to_photon_ms: z
      .number()
      .nullable()
      .describe('Median time from one of these to the picture that shows it, in milliseconds; null: none.'),
    limit: z.string().describe('What limited it, or that nothing did, in one sentence for its owner.'),
    remedy: z.string().nullable().describe('What the owner can do about it, in one sentence; null: nothing.'),
  })
  .meta({ id: 'SessionReport', description: 'How a session was for its owner, made from the verdict.' });
export type SessionReport = z.output<typeof sessionReport>;

/** The cause that limited a session in a window of time, with the conditions for and against it. */
export const sessionVerdict = z
  .object({
    verdict: openCode<VerdictName>().describe(
      'What limited the session: `likely_encoder_saturation`, `likely_network_congestion`, `likely_client_presentation_limit`, `indeterminate_client_hidden`, `nominal` or `unknown`. May grow.',
    ),
    reason: z.string().describe('One sentence for people. Not for programs.'),
    evidence: z
      .array(z.string())
      .describe('Series that decided, in the order in which they were read, then types of events.'),
    window: z
      .object({
        from_ms: z.int().describe('Its begin, in milliseconds since 1970.'),
        to_ms: z.int().describe('Its end, in milliseconds since 1970.'),
        n_host: z.int().describe('Samples of the host with `encoder.fps` that count.'),
        n_client: z.int().describe('Samples of the viewer that count.'),
        warmup_excluded_ms: z
          .int()
          .describe('Part of the window within the first 20 s of the session, in milliseconds.'),
      })
      .describe('The time that was judged.'),
    clock: z
      .object({
        quality: z.enum(['measured', 'unmeasured']).describe('Whether the clocks were compared.'),
        offset_ms: z
          .number()
          .optional()
          .describe('Clock of the host minus that of the viewer, in milliseconds; left out: not measured.'),
        uncertainty_ms: z
          .number()
          .optional()
          .describe('How far the offset may be off, in milliseconds; left out: not measured.'),
        applied: z.boolean().describe('Times of the viewer were moved to the clock of the host.'),
        age_ms: z
          .int()
          .optional()
          .describe('Time from the measurement to the end of the window, in milliseconds; left out: none.'),
      })
      .describe('How the clocks of host and viewer relate.'),
    evidence_tier: z
      .enum(['full', 'host_only', 'client_only', 'insufficient'])
      .describe(
        'How far the verdict can be trusted. `full`: three samples of host and viewer each, on one clock; `host_only`: the same without a common clock, or of the host alone; `client_only`: of the viewer alone; `insufficient`: of neither, and the verdict is `unknown`.',
      ),
    falsifiers: z.array(falsifier).describe('Conditions for and against the verdict; empty for `unknown`.'),
    path: openCode<NetworkPath>()
      .optional()
      .describe(
        'Path of most samples of the viewer: `udp` and `tcp` are direct, `turn_udp`, `turn_tcp` and `turn_tls` go through a TURN server. Left out: the viewer did not report it. May grow.',
      ),
    thresholds_version: z.string().describe('Version of the thresholds; changes with each of them.'),
    report: sessionReport
      .optional()
      .describe('How it was for its owner; left out: the viewer received no picture in the window.'),
  })
  .meta({ id: 'Verdict', description: 'What limited a session in a window of time.' });
export type SessionVerdict = z.output<typeof sessionVerdict>;

const DESCRIPTION =
  'The first rule that matches decides. The same samples give the same answer. Meanings and remedies: docs/troubleshooting.md.';
const example = {
  params: { id: exampleIds.session },
  query: { to: '2026-11-20T10:05:00.000Z' },
  response: {
    verdict: 'likely_network_congestion',
    reason: 'The network lost 41 packets while the round trip took up to 84.2 ms.',
    evidence: ['transport.packets_lost', 'transport.rtt_ms'],
    window: {
      from_ms: 1795168800000,
      to_ms: 1795169100000,
      n_host: 56,
      n_client: 296,
      warmup_excluded_ms: 20000,
    },
    clock: { quality: 'measured', offset_ms: -35.2, uncertainty_ms: 4, applied: true, age_ms: 21400 },
    evidence_tier: 'full',
    falsifiers: [
      {
        name: 'transport.packets_lost',
        estimator: 'delta',
        value: 41,
        op: '>',
        threshold: 5,
        unit: 'count',
        n: 296,
        holds: true,
      },
      {
        name: 'transport.rtt_ms',
        estimator: 'p95',
        value: 84.2,
        op: '>',
        threshold: 50,
        unit: 'ms',
        n: 296,
        holds: true,
      },
      {
        name: 'encoder.encode_ms_p95',
        estimator: 'p95',
        value: 7.5,
        op: '<',
        threshold: 16,
        unit: 'ms',
        n: 60,
        holds: true,
      },
      {
        name: 'client.is_hidden',
        estimator: 'any',
        value: 0,
        op: '==',
        threshold: 0,
        unit: 'bool',
        n: 296,
        holds: true,
      },
    ],
    path: 'udp',
    thresholds_version: '1',
    report: {
      played_ms: 1843000,
      seconds: 296,
      smooth_fraction: 0.91,
      clicks: 212,
      click_to_photon_ms: 74.5,
      limit: 'The connection to this device lost data and answered slowly.',
      remedy:
        'Use a cable or move closer to the Wi-Fi, pause other downloads, or choose a quality with a lower bitrate.',
    },
  },
};

export const verdictOperations = {
  'sessions.verdict': operation({
    id: 'sessions.verdict',
    method: 'GET',
    path: '/v1/sessions/{id}/verdict',
    auth: 'user',
    summary: 'What limited a session, to its owner and to administrators',
    description: DESCRIPTION,
    params: idParams,
    query: windowQuery,
    responses: { 200: sessionVerdict },
    refusals: {
      forbidden: 'There is no such session among those of the caller. Administrators reach all.',
      not_found: 'The caller is an administrator, and there is no such session.',
      rate_limited: 'Ten verdicts of this session were asked for at once, or more than one in two seconds.',
    },
    example,
  }),
  'admin.sessions.verdict': operation({
    id: 'admin.sessions.verdict',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/verdict',
    auth: 'admin',
    summary: 'What limited a session',
    description: DESCRIPTION,
    params: idParams,
    query: windowQuery,
    responses: { 200: sessionVerdict },
    refusals: { not_found: 'There is no such session.' },
    example,
  }),
} as const;
