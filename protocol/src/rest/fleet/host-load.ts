import { z } from 'zod';
import { idParams, madeId } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

const share = z.number().nullable();

const hostLoadSample = z
  .object({
    ts_unix_ms: z.int().describe('When it came, by the clock of this service, in milliseconds since 1970.'),
    cpu_busy: share.describe('Share of the time in which its cores were busy, 0 to 1; null: not measured.'),
    mem_free_mb: z
      .int()
      .nullable()
      .describe('Memory that programs may still take, in MB; null: not measured.'),
    net_rx_kbps: z
      .int()
      .nullable()
      .describe('What it received over all networks, in kbit/s; null: not measured.'),
    net_tx_kbps: z
      .int()
      .nullable()
      .describe('What it sent over all networks, in kbit/s; null: not measured.'),
    sessions: z.int().describe('Sessions that it starts, runs or stops.'),
    gpus: z
      .array(
        z.object({
          gpu_index: z.int().describe('Number of the GPU on the host, from 0.'),
          encoder_busy: share.describe(
            'Share of the time in which its encoder was busy, 0 to 1; null: not measured.',
          ),
          vram_mb_used: z.int().nullable().describe('Video memory in use, in MB; null: not measured.'),
        }),
      )
      .describe('Its GPUs, by their number.'),
  })
  .meta({
    id: 'HostLoadSample',
    description: 'How busy a host was at a moment. Null means not measured, never zero.',
  });

export const hostLoad = z
  .object({
    host_id: madeId.describe('Id of the host.'),
    samples: z
      .array(hostLoadSample)
      .describe('At most an hour, oldest first; empty while the host is away and until its first report.'),
  })
  .meta({ id: 'HostLoad', description: 'How busy a host was in the last hour.' });
export type HostLoad = z.output<typeof hostLoad>;
export type HostLoadSample = HostLoad['samples'][number];

export const hostLoadOperations = {
  'hosts.load': operation({
    id: 'hosts.load',
    method: 'GET',
    path: '/v1/admin/hosts/{id}/load',
    auth: 'admin',
    summary: 'How busy a host was in the last hour',
    description:
      'The last five minutes have a sample for each heartbeat, every 5 s. The minutes before have one sample each, with the means of its figures. They are kept in memory by the replica that the host is connected to, so a restart of that replica clears them.',
    params: idParams,
    responses: { 200: hostLoad },
    refusals: {
      not_found: 'There is no such host.',
      internal: 'The replica with the connection of the host does not answer (503).',
    },
    example: {
      params: { id: exampleIds.host },
      response: {
        host_id: exampleIds.host,
        samples: [
          {
            ts_unix_ms: 1795168800000,
            cpu_busy: 0.42,
            mem_free_mb: 41200,
            net_rx_kbps: 310,
            net_tx_kbps: 15420,
            sessions: 1,
            gpus: [{ gpu_index: 0, encoder_busy: 0.18, vram_mb_used: 2310 }],
          },
        ],
      },
    },
  }),
} as const;
