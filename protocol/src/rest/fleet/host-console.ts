import { z } from 'zod';
import type { ConsoleConfig } from '../../agent/capacity.ts';
import { fitsUtf8, uuid } from '../../common.ts';
import { body, idParams, int32, string } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

/** Default configuration of a console. */
export const consoleDefaults: ConsoleConfig = {
  enabled: false,
  connector: 'auto',
  output_id: null,
  mode: null,
  compositor: 'weston',
  audio_output: null,
  stream: false,
  stream_audio: false,
  input_devices: 'auto',
  grab: true,
  auto_start_on_display: false,
  auto_connect_controller: false,
  default_app: null,
  default_user: null,
  fullscreen: true,
};

/** Names in the form in which hosts report them. A longer name cannot exist. */
const name = (maxBytes: number) =>
  string({ min: 1 }).refine((value) => fitsUtf8(value, maxBytes), { error: `at most ${maxBytes} bytes` });

const displayMode = z.strictObject({
  width: int32(1).describe('Pixels of a line.'),
  height: int32(1).describe('Lines.'),
  refresh_millihz: int32(1).describe('Pictures in a thousand seconds, such as 59940.'),
});

const fields = {
  enabled: z.boolean().describe('The host shows apps on a display that is plugged into it.'),
  connector: name(64).describe('Name of the connector to use; `auto`: any with a display.'),
  output_id: name(128).nullable().describe('The output to use, with `mode`; null: as `connector` says.'),
  mode: displayMode.nullable().describe('Mode of that output; null: the one that it prefers.'),
  compositor: z.enum(['weston', 'cage']).describe('What draws on the display.'),
  audio_output: name(256)
    .nullable()
    .describe('Audio sink of the host. Stored without effect in this version: the host is silent.'),
  stream: z.boolean().describe('Viewers can join what the display shows.'),
  stream_audio: z.boolean().describe('They hear it too.'),
  input_devices: z
    .union([z.literal('auto'), z.array(name(256)).max(128)])
    .describe(
      'Input devices of the host, by path, or `auto`. Stored without effect in this version: all are used.',
    ),
  grab: z.boolean().describe('Stored without effect in this version.'),
  auto_start_on_display: z
    .boolean()
    .describe('Start `default_app` for `default_user` whenever a display is connected.'),
  auto_connect_controller: z.boolean().describe('Stored without effect in this version.'),
  default_app: uuid.nullable().describe('App that is started by itself; null: none.'),
  default_user: uuid.nullable().describe('Account that it is started for; null: none.'),
  fullscreen: z.boolean().describe('Stored without effect in this version: the app fills the display.'),
};

const consoleConfig = z
  .object(fields)
  .meta({ id: 'ConsoleConfig', description: 'Configuration of the display attached to a host.' });

const mode = z.object({
  name: z.string().describe('Name for people, such as 1920x1080.'),
  width: z.int().describe('Pixels of a line.'),
  height: z.int().describe('Lines.'),
  refresh_millihz: z.int().describe('Pictures in a thousand seconds.'),
  preferred: z.boolean().describe('The display prefers it.'),
  interlaced: z.boolean().describe('Interlaced.'),
  clock_khz: z.int().describe('Pixel clock in kHz.'),
  htotal: z.int().describe('Pixels of a line with its blanking.'),
  vtotal: z.int().describe('Lines with their blanking.'),
});

const consoleCapabilities = z
  .object({
    connectors: z.array(z.string()).describe('Names of its connectors, plugged or not.'),
    outputs: z
      .array(
        z.object({
          id: z.string().describe('Card and connector, such as `card1:DP-4`.'),
          card: z.string().describe('The card, such as `card1`.'),
          render_node: z.string().nullable().describe('Render node of the card; null: it has none.'),
          connector: z.string().describe('Name of the connector.'),
          connected: z.boolean().describe('A display is plugged in.'),
          active_mode: z
            .object({
              width: z.int().describe('Pixels of a line.'),
              height: z.int().describe('Lines.'),
              refresh_millihz: z.int().describe('Pictures in a thousand seconds.'),
            })
            .nullable()
            .describe('The mode that it shows now; null: none, or not known.'),
          modes: z.array(mode).describe('Modes that it can show.'),
        }),
      )
      .describe('Its outputs.'),
    audio_sinks: z
      .array(
        z.object({ id: z.string().describe('Name of the sink.'), label: z.string().describe('For people.') }),
      )
      .describe('Where it can play sound.'),
    input_devices: z
      .array(z.object({ path: z.string().describe('Its path.'), label: z.string().describe('For people.') }))
      .describe('Keyboards, pointers and controllers that are plugged in.'),
  })
  .meta({
    id: 'ConsoleCapabilities',
    description: 'What a host could use for a display; empty if it reported nothing.',
  });

const answer = z.object({
  config: consoleConfig.describe('What is set, complete.'),
  capabilities: consoleCapabilities.describe('What the host last reported.'),
});
export type HostConsole = z.output<typeof answer>;

type Nullable<Shape extends Record<string, z.ZodType>> = {
  [Key in keyof Shape]: z.ZodOptional<z.ZodNullable<Shape[Key]>>;
};
const changeBody = body(
  Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [
      key,
      field.nullable().optional().describe(`${field.description} null: back to the default.`),
    ]),
  ) as Nullable<typeof fields>,
);
export type ConsolePatch = z.output<typeof changeBody>;

const byId = { id: exampleIds.host };
const refresh_millihz = 60_000;
const example = {
  config: {
    ...consoleDefaults,
    enabled: true,
    output_id: 'card1:DP-4',
    mode: { width: 1920, height: 1080, refresh_millihz },
  },
  capabilities: {
    connectors: ['DP-4'],
    outputs: [
      {
        id: 'card1:DP-4',
        card: 'card1',
        render_node: '/dev/dri/renderD128',
        connector: 'DP-4',
        connected: true,
        active_mode: null,
        modes: [
          {
            name: '1920x1080',
            width: 1920,
            height: 1080,
            refresh_millihz,
            preferred: true,
            interlaced: false,
            clock_khz: 148_500,
            htotal: 2200,
            vtotal: 1125,
          },
        ],
      },
    ],
    audio_sinks: [],
    input_devices: [{ path: '/dev/input/event3', label: 'USB Keyboard' }],
  },
};

export const hostConsoleOperations = {
  'hostConsole.read': operation({
    id: 'hostConsole.read',
    method: 'GET',
    path: '/v1/admin/hosts/{id}/console-config',
    auth: 'admin',
    summary: 'The display attached to a host: what is set, and what the host has',
    params: idParams,
    responses: { 200: answer },
    refusals: { not_found: 'There is no such host.' },
    example: { params: byId, response: example },
  }),
  'hostConsole.update': operation({
    id: 'hostConsole.update',
    method: 'PATCH',
    path: '/v1/admin/hosts/{id}/console-config',
    auth: 'admin',
    summary: 'Change what is set for the display attached to a host',
    description:
      'Fields that are left out stay; null puts one back to its default. The agent is told at once, or when it connects; nothing is restarted.',
    params: idParams,
    body: { schema: changeBody },
    responses: { 200: answer },
    refusals: {
      not_found: 'There is no such host.',
      validation_failed:
        '`output_id` and `mode` do not come together or are none that a connected output of the host has; the connector, the audio output or an input device is none that it reported; the app or the account does not exist; or automatic start is on without an account.',
    },
    example: {
      params: byId,
      body: {
        enabled: true,
        output_id: 'card1:DP-4',
        mode: { width: 1920, height: 1080, refresh_millihz },
        grab: null,
      },
      response: example,
    },
  }),
} as const;
