import { z } from 'zod';
import { MAX_HOST_PREFLIGHTS, MAX_PREFLIGHT_SDP } from '../../preflight.ts';
import { NETWORK_PATHS } from '../../telemetry/index.ts';
import { body, idParams, notBlank } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

const networkPath = z
  .enum(NETWORK_PATHS)
  .describe(
    'A path between browser and host. `udp`: direct. `tcp`: direct, to the fallback port of the host. `turn_udp`, `turn_tcp`, `turn_tls`: through a TURN server, which the browser reaches by this transport.',
  )
  .meta({ id: 'NetworkPath' });

const plannedPath = z
  .object({
    path: networkPath,
    ice_servers: z
      .array(
        z.object({
          urls: z.array(z.string()).describe('URLs of one server.'),
          username: z.string().optional().describe('User name; missing for servers without a password.'),
          credential: z.string().optional().describe('Password of this user name.'),
        }),
      )
      .describe('ICE servers for an RTCPeerConnection that tests this path only.'),
    missing: z
      .enum(['turn_server'])
      .nullable()
      .describe('What the path needs and this instance does not have; null: it can be tested.'),
  })
  .meta({ id: 'PlannedPath', description: 'One path of a connection test.' });
export type PlannedPath = z.output<typeof plannedPath>;

const offerBody = body({
  path: networkPath,
  offer: notBlank(MAX_PREFLIGHT_SDP).describe(
    'The offer (SDP) of one data channel and no media, with all candidates.',
  ),
});

const byId = { id: exampleIds.host };
const refusals = {
  not_found: 'There is no such host.',
  conflict: 'The host is offline, or this instance has no TURN server for the path.',
  preflight_unsupported: 'The agent of the host is older than this function; update it.',
};

export const preflightOperations = {
  'preflight.start': operation({
    id: 'preflight.start',
    method: 'POST',
    path: '/v1/admin/hosts/{id}/preflight',
    auth: 'admin',
    summary: 'The paths of a connection test between this browser and a host',
    description:
      'For each path, the page makes an RTCPeerConnection with one data channel and with the ICE servers of this answer, and sends its offer with `preflight.offer`. Credentials of TURN servers are valid for two minutes.',
    params: idParams,
    responses: {
      200: z.object({ paths: z.array(plannedPath).describe('All paths, in the order of their cost.') }),
    },
    refusals: {
      ...refusals,
      conflict: 'The host is offline.',
      internal: 'The replica with the connection of the host does not answer (503).',
    },
    example: {
      params: byId,
      response: {
        paths: [
          { path: 'udp', ice_servers: [], missing: null },
          { path: 'tcp', ice_servers: [], missing: null },
          {
            path: 'turn_udp',
            ice_servers: [
              {
                urls: ['turn:turn.example.org:3478?transport=udp'],
                username: '1795168920:7c1f5c1e-3b5f-4b0e-9a3e-5d3c1f0a7b21',
                credential: 'q1h5o0QX3nqv3yRk0L2Jm9wD8sE=',
              },
            ],
            missing: null,
          },
          { path: 'turn_tcp', ice_servers: [], missing: 'turn_server' },
          { path: 'turn_tls', ice_servers: [], missing: 'turn_server' },
        ],
      },
    },
  }),
  'preflight.offer': operation({
    id: 'preflight.offer',
    method: 'POST',
    path: '/v1/admin/hosts/{id}/preflight/offers',
    auth: 'admin',
    summary: 'The answer of a host to the offer of a connection test',
    description:
      'The host echoes up to 16 messages of at most 64 bytes on the data channel. It ends the connection after 20 s.',
    params: idParams,
    body: { schema: offerBody },
    responses: {
      200: z.object({
        answer: z
          .string()
          .nullable()
          .describe(
            'The answer (SDP) of the host, with all its candidates for this path; null: the path needs a fallback port, and the host has none.',
          ),
        media_ports: z
          .object({
            first: z.int().describe('Lowest port.'),
            last: z.int().describe('Highest port.'),
            configured: z
              .boolean()
              .describe('The host has this range from `SERVICE_MEDIA_PORTS`; false: its ephemeral ports.'),
          })
          .describe('UDP ports that the host uses for media.'),
        fallback_port: z
          .int()
          .nullable()
          .describe('Port for media over TCP, and over UDP if its other ports are closed; null: none.'),
      }),
    },
    refusals: {
      not_found: refusals.not_found,
      conflict: refusals.conflict,
      preflight_unsupported: refusals.preflight_unsupported,
      rate_limited: `The host runs ${MAX_HOST_PREFLIGHTS} tests already, or too many hosts run tests.`,
      validation_failed: 'The host cannot use the offer.',
      internal:
        'The host did not answer within ten seconds, its test failed, or an older replica has its connection (503).',
    },
    example: {
      params: byId,
      body: { path: 'udp', offer: 'v=0\r\n…' },
      response: {
        answer: 'v=0\r\n…',
        media_ports: { first: 50_000, last: 50_255, configured: true },
        fallback_port: 8444,
      },
    },
  }),
} as const;
