// Entries of the seed file, in the form of the POST /v1/apps body, for apps that are installed on this machine.
import { existsSync } from 'node:fs';

/**
 * @typedef {object} DemoApp
 * @property {string} program   absolute path; if the program does not exist, the app is left out
 * @property {object} app       body of POST /v1/apps; `entitle` may also be first_admin
 */

// Size and frame rate that a machine without a GPU can draw and encode. A person may choose other values at a launch.
const stream = {
  default_width: 1280,
  default_height: 720,
  default_fps: 60,
  default_bitrate_kbps: 6000,
  default_profile_id: '720p60',
  profile_policy: 'prefer',
};

/**
 * @param {{node: string, diagnostics: string}} places the Node binary and the Diagnostics app, both readable to every session's user
 * @returns {DemoApp[]}
 */
export function demoApps({ node, diagnostics }) {
  return [
    {
      program: '/usr/libexec/xscreensaver/discoball',
      app: {
        name: 'Disco ball',
        cover_url: '/cover-disco-ball.svg',
        description: 'An OpenGL animation: mirrors, lights and dust, drawn live on the host.',
        kind: 'desktop',
        ...stream,
        default_fps: 30,
        default_bitrate_kbps: 5000,
        runtime_spec: { args: ['/usr/libexec/xscreensaver/discoball', '--window'] },
      },
    },
    {
      program: '/usr/games/lbreakouthd',
      app: {
        name: 'LBreakoutHD',
        cover_url: '/cover-lbreakouthd.svg',
        description: 'The classic: one paddle, one ball, a wall of bricks. Mouse or arrow keys.',
        kind: 'game',
        ...stream,
        managed_home: true,
        runtime_spec: { args: ['/usr/games/lbreakouthd'] },
      },
    },
    {
      program: '/usr/bin/xterm',
      app: {
        name: 'Terminal',
        cover_url: '/cover-terminal.svg',
        description: 'A shell on the host, as a user without rights of its own.',
        kind: 'desktop',
        ...stream,
        default_fps: 30,
        managed_home: true,
        entitle: 'first_admin',
        runtime_spec: {
          args: [
            '/usr/bin/xterm',
            '-fa',
            'DejaVu Sans Mono',
            '-fs',
            '14',
            '-bg',
            '#14151a',
            '-fg',
            '#e8e6e1',
            '-bc',
            '+sb',
            // Copy and paste as in other terminals: xterm itself has only a pointer's selection and Shift + Insert.
            '-xrm',
            'XTerm*VT100.translations: #override Ctrl Shift <Key>C: copy-selection(CLIPBOARD) \\n Ctrl Shift <Key>V: insert-selection(CLIPBOARD)',
          ],
        },
      },
    },
    {
      program: diagnostics,
      app: {
        name: 'Diagnostics',
        cover_url: '/cover-diagnostics.svg',
        description: 'A moving test pattern, a 440 Hz tone, and a field that shows every key and click.',
        kind: 'desktop',
        ...stream,
        runtime_spec: { args: [node, diagnostics] },
      },
    },
  ];
}

/**
 * The entries of the seed file, without apps whose program does not exist.
 * @param {DemoApp[]} apps
 */
export function seedEntries(apps) {
  return apps.filter((entry) => existsSync(entry.program)).map((entry) => entry.app);
}
