// Drills: tests that need more than a minute. Each drill runs in a short form in `scripts/test --all`, and in its full
// form in `scripts/test --long <name>`.
import { bootPackages, firefoxPackages, imagePackages, realAppPackages } from '../lib/debian-packages.mjs';
import { THREE_REPLICAS } from './tiers.mjs';

/**
 * @typedef {object} Drill
 * @property {string} name
 * @property {string[]} words   files and options for vitest
 * @property {string} whole the long form
 * @property {string} short the short form, for `--all`
 * @property {import('../lib/debian-packages.mjs').DebianPackage[]} [packages] additional packages of the long form
 * @property {boolean} [newSeed]   draws a new FOOTLIGHT_SEED
 * @property {Record<string, string>} [env] additional environment variables of the long form
 */

/** @type {Drill[]} */
export const drills = [
  {
    name: 'absence',
    words: ['test-harness/e2e/absence.all.e2e.ts'],
    whole: 'the control plane away for 120 s while a browser watches, then keys, stop and relaunch',
    short: '8 s away, without a limit of time',
  },
  {
    name: 'control-killed',
    words: ['test-harness/e2e/control-killed.all.e2e.ts'],
    whole:
      'the control plane killed 20 times in the middle of a launch or a swap, while somebody watches another session',
    short: 'nothing',
  },
  {
    name: 'control-restarts',
    words: ['control-plane/src/integration/own-process.all.test.ts'],
    whole:
      'the control plane killed and started 20 times within two minutes of its time, six hosts with a session each',
    short: 'twice',
  },
  {
    name: 'reports-killed',
    words: ['control-plane/src/integration/reports-killed.all.test.ts'],
    whole:
      'the control plane killed 200 times on each database between the store and the confirmation of reports',
    short: '8 times',
  },
  {
    name: 'jobs-killed',
    words: ['control-plane/src/integration/jobs-killed.all.test.ts'],
    whole: 'the control plane killed 40 times on each database between claims and reports of jobs',
    short: 'twice',
  },
  {
    name: 'jobs-replicas',
    words: ['control-plane/src/integration/jobs-replicas.all.test.ts'],
    whole:
      'two control planes on one Postgres with claims and reports of jobs, the holder of the lease stopped eight times, half of them past its time, and four kills',
    short: 'the holder stopped twice, and a kill',
  },
  {
    name: 'replicas-faults',
    words: ['control-plane/src/integration/replicas-faults.all.test.ts'],
    whole:
      'three control planes with 60 hosts and 240 sessions: a replica killed, stopped and cut off from Postgres and from NATS past its leases, told to stop; two replicas that do not see each other; NATS and Postgres ended and started; Postgres failed over; each ten times',
    short: '6 hosts and 12 sessions, each fault once, without waiting for leases',
  },
  {
    name: 'three-replicas',
    words: [
      '--project=integration',
      '--project=database',
      '--maxWorkers=1',
      '--no-isolate',
      '--testNamePattern=postgres',
    ],
    env: THREE_REPLICAS,
    whole:
      'every test of the control plane on Postgres, against one address with three control planes behind it',
    short: 'stopping a session, and signaling tokens',
  },
  {
    name: 'rolling-upgrade',
    words: ['control-plane/src/integration/rolling-upgrade.all.test.ts'],
    whole:
      'three control planes of the release before the newest migration, behind HAProxy, replaced by this release one after another, and then by itself while people launch, with 20 hosts, 100 sessions, 50 reads and writes a second, and sign-ins',
    short: 'the same release again, with 16 hosts, 16 sessions and 20 reads and writes a second',
  },
  {
    name: 'job-histories',
    words: ['control-plane/src/jobs/histories.all.test.ts'],
    whole: 'random histories of job runs with 3,000 steps on each database',
    short: '150 steps',
  },
  {
    name: 'database-half-open',
    words: ['control-plane/src/platform/database/engine/faults.all.test.ts'],
    whole: 'every connection to Postgres half-open for good while 30 requests wait',
    short: 'answers that take 5 s',
  },
  {
    name: 'database-contention',
    words: ['control-plane/src/integration/contention.all.test.ts'],
    whole: 'everything that writes, at once, from two services on one Postgres for 60 s, without a deadlock',
    short: '6 s',
  },
  {
    name: 'simultaneous-launches',
    words: ['control-plane/src/sessions/launch/simultaneous.all.test.ts'],
    whole: '60 launches at once by three people on 40 slots while agents report, 20 times',
    short: 'twice',
  },
  {
    name: 'start-together',
    words: ['control-plane/src/integration/start-together.all.test.ts'],
    whole: 'three control planes that start at the same moment on one Postgres, 50 times',
    short: 'three times',
  },
  {
    name: 'login-timing',
    words: ['control-plane/src/accounts/sign-in/login-timing.all.test.ts'],
    whole: '200 pairs of logins, known and unknown',
    short: '15 pairs',
  },
  {
    name: 'signal-flood',
    words: ['control-plane/src/signaling/flood.all.test.ts'],
    whole: '5,000 sockets without a token while a viewer joins',
    short: '300 sockets',
  },
  {
    name: 'fault-matrix',
    words: ['control-plane/src/sessions/life/fault-matrix.all.test.ts'],
    whole: 'every fault of a host at every step, with hosts that stay away for 750 s',
    short: 'without the hosts that stay away',
  },
  {
    name: 'fleet-return',
    words: ['control-plane/src/sessions/reconcile/fleet-return.all.test.ts'],
    whole: '1,000 hosts with 2,000 sessions come back within a second of a restart, on both databases',
    short: '100 hosts with 200 sessions',
  },
  {
    name: 'slow-clients',
    words: ['control-plane/src/platform/http/connection/slow-clients.all.test.ts'],
    whole: '500 slow clients of each kind',
    short: '20 of each kind',
  },
  {
    name: 'descriptors',
    words: ['control-plane/src/platform/http/connection/descriptors.all.test.ts'],
    whole: '1,000 connections against a small limit of descriptors',
    short: '150 connections',
  },
  {
    name: 'fuzz-bodies',
    words: ['control-plane/src/platform/http/message/fuzz.all.test.ts'],
    whole: 'a million random bodies',
    short: '4,000 bodies',
  },
  {
    name: 'gst-leaks',
    words: ['packages/gst/src'],
    whole: '1,000 pipelines started and stopped',
    short: '20 pipelines',
  },
  {
    name: 'host-stands-still',
    words: ['test-harness/e2e/host-faults.all.e2e.ts'],
    whole: 'the agent stopped for 15, 25 and 60 s, a viewer away for 60 s',
    short: '7 s and 1.5 s',
  },
  {
    name: 'host-cycles',
    words: ['test-harness/e2e/host-cycles.all.e2e.ts'],
    whole: '150 sessions launched and stopped, and the trend of held resources',
    short: '20 sessions',
  },
  {
    name: 'network-cut',
    words: ['test-harness/e2e/session/cut-network.all.e2e.ts'],
    whole:
      'no packet passes between a browser and everything else for 3, 10 and 40 s: the picture is back in 2 s',
    short: '3 and 10 s, without a limit of time',
  },
  {
    name: 'stop-to-gone',
    words: ['test-harness/e2e/stop-to-gone.all.e2e.ts'],
    whole: '50 watched sessions deleted: everything is gone within 3 s for 95 of 100',
    short: '3 sessions, without a limit of time',
  },
  {
    name: 'greedy-apps',
    words: ['test-harness/e2e/hostile/hostile-apps.all.e2e.ts'],
    whole:
      'each greedy app, as a process and in a container, next to another session for 30 s, which keeps four fifths of its frames',
    short: '2 s each as processes, without limits of time',
  },
  {
    name: 'hostile-neighbour',
    words: ['test-harness/e2e/hostile/hostile-neighbour.all.e2e.ts'],
    whole: 'an app attacks the session of another person for a minute, while that one is used',
    short: '6 s',
  },
  {
    name: 'viewer-garbage',
    words: ['node-agent/src/media/viewer/hostile-viewer.all.test.ts'],
    whole: '200,000 messages of garbage on each data channel',
    short: '3,000 messages',
  },
  {
    name: 'laptop-closed',
    words: ['node-agent/src/media/viewer/path-faults.all.test.ts'],
    whole: 'a viewer silent for 60 s comes back with another address',
    short: '0.5 s',
  },
  {
    name: 'removal-races',
    words: ['node-agent/src/runtime/owned-files.all.test.ts'],
    whole: '1,000 races between a session and its removal',
    short: '20 races',
  },
  {
    name: 'certify',
    words: ['test-harness/e2e/certify.all.e2e.ts'],
    whole:
      'the sweep of 720p30 to 1080p60 at four bitrates, 25 s each, and its samples again from a fake agent',
    short: 'two cells of 9 s',
  },
  {
    name: 'real-apps',
    words: ['test-harness/e2e/real-apps.all.e2e.ts'],
    whole: 'ten programs of Debian, used and left twice each: picture, keys, pointer, sound, exit, home',
    short: 'a terminal, and one behind a launcher',
    packages: realAppPackages,
  },
  {
    name: 'firefox',
    words: ['test-harness/e2e/people/firefox.all.e2e.ts'],
    whole:
      'the main way of a person in a real Firefox: sign in, launch, see the live picture, type, leave, end',
    short: 'nothing',
    packages: firefoxPackages,
  },
  {
    name: 'packages',
    words: ['test-harness/e2e/packages.all.e2e.ts'],
    whole:
      'a minimal Debian with systemd: install both packages, see a picture, upgrade, a release whose migration breaks the database, remove, purge',
    short: 'nothing',
    packages: bootPackages,
  },
  {
    name: 'control-image',
    words: ['test-harness/e2e/control-image.all.e2e.ts'],
    whole:
      'the image of the control plane from both compose files and from the Helm chart: claim, add a host, restart, upgrade, lose a replica',
    short: 'nothing',
    packages: imagePackages,
  },
  {
    name: 'input-alone',
    words: ['test-harness/e2e/people/input-alone.all.e2e.ts'],
    whole: 'every task of a person with the keyboard alone, and with a gamepad alone',
    short: 'signing in, the library and a launch, with the keyboard',
  },
  {
    name: 'steady-page',
    words: ['test-harness/e2e/library/steady-page.all.e2e.ts'],
    whole:
      'nothing of the library moves, in three windows, at first and later visits, in three orders of answers',
    short: 'one order at each visit',
  },
  {
    name: 'silent-server',
    words: ['test-harness/e2e/admin/fleet.all.e2e.ts'],
    whole:
      'five pages of administrators while the server is silent, fails and is slow; the load of a host on its page within 3 s',
    short: 'the overview, and the load without a limit of time',
  },
  {
    name: 'live-pulls',
    words: ['test-harness/e2e/admin/upkeep.all.e2e.ts'],
    whole: 'each step of a pull is on the page within 3 s',
    short: 'without a limit of time',
  },
  {
    name: 'paced-download',
    words: ['test-harness/e2e/session/paced-download.all.e2e.ts'],
    whole: 'a download on a path of 8 Mbit/s leaves the pictures their time',
    short: 'a sixth of the file, without a limit of time',
  },
  {
    name: 'paced-upload',
    words: ['test-harness/e2e/session/paced-upload.all.e2e.ts'],
    whole: 'an upload on a path of 2 Mbit/s leaves clicks their time',
    short: 'a quarter of the file, without a limit of time',
  },
  {
    name: 'user-pages',
    words: ['test-harness/e2e/people/user-pages.all.e2e.ts'],
    whole: 'axe, sizes and translation of the pages for users in 38 states',
    short: 'the fullest state of each page',
  },
  {
    name: 'keyboards',
    words: ['node-agent/src/media/input/keyboard-layouts.all.test.ts'],
    whole: 'every printed key of twelve layouts in a terminal and in a text field of Chromium',
    short: 'two layouts in a terminal',
  },
  {
    name: 'verdicts',
    words: ['test-harness/e2e/verdicts.all.e2e.ts'],
    whole:
      'a session each for a blocked page, a stopped compositor, a hidden tab, a starved encoder and a lossy path',
    short: 'all but the compositor one after the other, in one session of 15 fps',
  },
  {
    name: 'add-host',
    words: ['test-harness/e2e/add-host.e2e.ts'],
    whole: 'the copied line on a bare Debian of its own, which fetches every package',
    short: 'on the programs of this machine',
  },
  {
    name: 'explore',
    words: ['--project=unit', '--project=integration', '--project=database', '--maxWorkers=2'],
    whole: 'unit tests and the control plane, with new examples in each property test',
    short: 'the same examples in each run',
    newSeed: true,
  },
];
