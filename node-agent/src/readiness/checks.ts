import type { EncoderInfo, Readiness, StorageReport } from '@footlight/protocol/agent';
import type { ScreenNeed } from '../console/host-console.ts';
import type { ClockPair } from '../link/clock-pairs.ts';
import type { FoundGpu } from '../probe/gpus.ts';
import type { EngineFact } from '../runtime/container/engine/engine-host.ts';
import type { FallbackFirewall, Firewall } from './firewall-verdict.ts';

/** Configuration of the console, and its first missing requirement. */
export interface ConsoleFacts {
  /** The administrator's compositor; null: the console is disabled. */
  wanted: 'weston' | 'cage' | null;
  /** null: no requirement is missing. */
  lacks: ScreenNeed | null;
}

/** Whether apps get their own network. */
export type AppNetworkFact =
  | { kind: 'own' }
  /** This host allows no namespaces, so apps use the host's network. */
  | { kind: 'no_namespaces' }
  /** The program `pasta` is not installed, so apps use the host's network. */
  | { kind: 'not_installed' }
  /** The program `pasta` does not work, so apps have only a loopback interface. */
  | { kind: 'fails'; why: string };

/** Input of the checks, collected by facts.ts; null: unknown. */
export interface ReadinessFacts {
  root: boolean;
  /** User name of the agent. */
  user: string;
  processRuntime: boolean;
  containers: EngineFact;
  gpus: readonly FoundGpu[];
  gpuProblem: string | null;
  encoderFamily: string;
  encoders: readonly EncoderInfo[];
  /** Names of the missing programs. */
  missingPrograms: readonly string[];
  unreadableRenderNodes: readonly string[];
  uinputWritable: boolean;
  storage: readonly StorageReport[];
  /** Free space of the state directory's file system; null: unknown. */
  stateDisk: { path: string; freeBytes: number; totalBytes: number } | null;
  /** The state directory or the home root, if this process cannot write to it. */
  unwritable: readonly string[];
  /** Homes that could not be deleted or moved back: one text each, with path and reason. */
  homeProblems: readonly string[];
  /** Whether limits on memory and CPU can be enforced. */
  cgroupsWritable: boolean;
  limitsWanted: boolean;
  isolated: boolean;
  appNetwork: AppNetworkFact;
  clock: ClockPair | null;
  mdnsProblem: string | null;
  /** Addresses for media, without loopback addresses. */
  mediaAddresses: readonly string[];
  /** Verdict on the UDP ports of media and mDNS. */
  firewall: Firewall;
  /** null: this host has no fallback port. */
  mediaFallback: FallbackFirewall | null;
  console: ConsoleFacts;
  settingsProblems: readonly string[];
  /** Keys of changed settings that apply only after a restart of the agent. */
  settingsAwaitingRestart: readonly string[];
}

/** All checks, sorted by id. Pure. A check that does not apply is omitted or skipped. */
export function readinessChecks(facts: ReadinessFacts): Readiness[] {
  return [
    mediaReachability(facts),
    mediaFallback(facts),
    containerRuntime(facts),
    gpuDriver(facts),
    renderNodeAccess(facts),
    encoderProbe(facts),
    gstreamerPlugins(facts),
    inputDevices(facts),
    consoleDisplay(facts),
    audioServer(facts),
    storageFree(facts),
    storageTrash(facts),
    appLimits(facts),
    appNetwork(facts),
    clockOffset(facts),
    mdnsResolution(facts),
    settings(facts),
  ].filter((check) => check !== null);
}

function pass(id: string, summary: string): Readiness {
  return { id, status: 'pass', summary, remediation: [] };
}

function skip(id: string, summary: string): Readiness {
  return { id, status: 'skip', summary, remediation: [] };
}

/** Longest summary. Source: the report's schema. */
const SUMMARY_CHARACTERS = 512;

/** @param remediation commands for the host's root shell, or sentences with a full stop */
function fail(id: string, summary: string, ...remediation: string[]): Readiness {
  return { id, status: 'fail', summary, remediation: remediation.slice(0, 8) };
}

function mediaReachability(facts: ReadinessFacts): Readiness | null {
  const id = 'media_reachability';
  if (facts.mediaAddresses.length === 0) {
    return fail(
      id,
      'This host has no address besides loopback, so no viewer can receive its picture.',
      'Connect a network interface, or set SERVICE_MEDIA_ADDRESSES to an address of this host.',
    );
  }
  const { firewall } = facts;
  switch (firewall.kind) {
    case 'unanswered':
      return null;
    case 'unknown':
      return {
        id,
        status: 'unknown',
        summary: `Whether the firewall lets viewers in cannot be told: ${firewall.why}.`,
        remediation: [
          `Look through the firewall's rules as root: they must let in UDP ports ${firewall.ports}.`,
        ],
      };
    case 'open':
      return pass(id, 'No firewall rule of this host keeps viewers out.');
    case 'filtered':
      return fail(
        id,
        `The firewall keeps out what viewers send to UDP ports ${firewall.ports} (${firewall.where}).`,
        firewall.remedy,
      );
  }
}

function mediaFallback({ mediaFallback: fallback }: ReadinessFacts): Readiness {
  const id = 'media_fallback';
  if (fallback === null) return skip(id, 'This host has no fallback port for media.');
  const { port, udp, tcp } = fallback;
  const closed = Object.entries({ UDP: udp, TCP: tcp }).flatMap(([transport, verdict]) =>
    verdict.kind === 'filtered' ? [{ transport, remedy: verdict.remedy }] : [],
  );
  if (closed.length > 0) {
    const by = closed.map(({ transport }) => transport).join(', ');
    return fail(
      id,
      `The firewall closes the fallback port ${port} (${by}), so viewers whose network blocks the media ports get no picture.`,
      ...closed.map(({ remedy }) => remedy),
    );
  }
  const unknown = [udp, tcp].find((verdict) => verdict.kind === 'unknown');
  if (unknown !== undefined) {
    return {
      id,
      status: 'unknown',
      summary: `Whether the firewall lets viewers in cannot be told: ${unknown.why}.`,
      remediation: [
        `Look through the firewall's rules as root: they must let in port ${port} by UDP and TCP.`,
      ],
    };
  }
  if (udp.kind === 'unanswered' || tcp.kind === 'unanswered')
    return skip(id, 'No firewall program of this host says whether the fallback port is open.');
  return pass(id, 'No firewall rule of this host closes the fallback port.');
}

function containerRuntime(facts: ReadinessFacts): Readiness {
  const id = 'container_runtime';
  const { containers } = facts;
  if (containers.kind === 'off')
    return skip(id, 'No container engine listens on this host; apps run as processes.');
  if (containers.kind === 'fails') {
    const instead = [
      'Or, if you trust all administrators, let apps run as processes:',
      'SERVICE_PROCESS_RUNTIME=1 footlight-agent install',
    ];
    return fail(id, containers.summary, ...containers.mend, ...(facts.processRuntime ? [] : instead));
  }
  return pass(id, `Apps run in containers of ${containers.name} ${containers.version}.`);
}

function gpuDriver(facts: ReadinessFacts): Readiness {
  const id = 'gpu_driver';
  if (facts.gpuProblem !== null) {
    return fail(id, facts.gpuProblem, 'Run nvidia-smi by hand; after a driver update restart this host.');
  }
  const named = facts.gpus.filter(({ vendor }) => vendor !== 'software').map(({ model }) => model);
  return named.length === 0
    ? skip(id, 'This host has no GPU; it encodes on the CPU.')
    : pass(id, named.join(', '));
}

function renderNodeAccess(facts: ReadinessFacts): Readiness {
  const id = 'render_node_access';
  const nodes = facts.gpus.flatMap(({ renderNode }) => renderNode ?? []);
  if (nodes.length === 0) return skip(id, 'There is no render node on this host.');
  if (facts.unreadableRenderNodes.length === 0) return pass(id, 'The agent can open every render node.');
  return fail(
    id,
    `The agent cannot open ${facts.unreadableRenderNodes.join(', ')}.`,
    `usermod -aG video,render ${facts.user}`,
    'Then start the agent again.',
  );
}

function encoderProbe(facts: ReadinessFacts): Readiness {
  const id = 'encoder_probe';
  const own = facts.encoders.filter(({ family }) => family === facts.encoderFamily);
  const works = own.filter(({ available }) => available);
  if (works.length > 0) {
    const codecs = [...new Set(works.map(({ codec }) => codec))].join(', ');
    return pass(id, `${facts.encoderFamily} encodes ${codecs}.`);
  }
  const reason = own.find((info) => info.reason)?.reason;
  return fail(
    id,
    `${facts.encoderFamily} cannot encode on this host${reason ? `: ${reason}` : '.'}`,
    'Choose another encoder in the host settings, or install what the message names.',
  );
}

function gstreamerPlugins(facts: ReadinessFacts): Readiness {
  const id = 'gstreamer_plugins';
  const own = facts.encoders.filter(({ family }) => family === facts.encoderFamily);
  const lacking = own.filter(({ available, reason }) => !available && /no element|lacks/i.test(reason ?? ''));
  // A missing codec of this GPU or of GStreamer needs no repair while another codec works.
  if (lacking.length === 0 || own.some(({ available }) => available)) {
    return pass(id, 'The GStreamer elements of the encoder in use are installed.');
  }
  return fail(
    id,
    `GStreamer lacks elements: ${lacking
      .map(({ reason }) => reason)
      .join('; ')
      .slice(0, 400)}`,
    'apt-get install gstreamer1.0-plugins-good gstreamer1.0-plugins-bad',
  );
}

function inputDevices(facts: ReadinessFacts): Readiness {
  const id = 'input_devices';
  if (facts.uinputWritable) return pass(id, 'Virtual gamepads can be made.');
  return fail(
    id,
    'Gamepads do not work: /dev/uinput is missing, or the agent may not read and write it.',
    'modprobe uinput && echo uinput > /etc/modules-load.d/uinput.conf',
    ...(facts.root
      ? []
      : [
          `echo 'KERNEL=="uinput", GROUP="input", MODE="0660"' > /etc/udev/rules.d/60-uinput.rules && udevadm control --reload && udevadm trigger`,
          `usermod -aG input ${facts.user}`,
          'Then start the agent again.',
        ]),
    'Where the agent runs in a container, pass it /dev/uinput and /dev/input.',
  );
}

function consoleDisplay({ console: { wanted, lacks } }: ReadinessFacts): Readiness {
  const id = 'console_display';
  if (wanted === null)
    return skip(id, 'No app is set to appear on a display that is plugged into this host.');
  if (wanted !== 'weston') {
    return fail(
      id,
      `Nothing is shown on the display beside this host: this version draws there with weston, and ${wanted} is chosen.`,
      'Choose weston for the display on the page of this host.',
    );
  }
  if (lacks === null) return pass(id, 'Sessions can be shown on the display beside this host.');
  return fail(
    id,
    `Nothing is shown on the display beside this host: ${SCREEN_NEEDS[lacks].why}.`,
    ...SCREEN_NEEDS[lacks].mend,
  );
}

/** Texts for the requirements of a console. The requirements are checked at each connection of the agent. */
const SCREEN_NEEDS: Record<ScreenNeed, { why: string; mend: string[] }> = {
  connector: {
    why: 'no graphics card with a connector is known to its kernel',
    mend: [
      'Load the driver of the card with mode setting (for nvidia: nvidia-drm modeset=1), then restart the agent.',
    ],
  },
  root: {
    why: 'the agent is not root, which alone may take a card and a terminal',
    mend: ['Run the agent as root, for example as the service that footlight-agent install sets up.'],
  },
  programs: {
    why: 'weston or Xwayland is not installed',
    mend: ['apt-get install weston xwayland', "Restart the agent on the host's page."],
  },
  card: {
    why: 'the agent may open no graphics card that has a connector',
    mend: ['Where the agent runs in a container, pass it /dev/dri.', "Restart the agent on the host's page."],
  },
  terminal: {
    why: 'the agent may not open the terminal /dev/tty7',
    mend: [
      'sudo footlight-agent install, which writes a unit that may.',
      'Where the agent runs in a container, pass it /dev/tty7 and the capability SYS_TTY_CONFIG.',
    ],
  },
};

function audioServer(facts: ReadinessFacts): Readiness {
  const id = 'audio_server';
  if (!facts.missingPrograms.includes('pulseaudio')) return pass(id, 'PulseAudio is installed.');
  return fail(id, 'Sessions have no sound: PulseAudio is not installed.', 'apt-get install pulseaudio');
}

function storageFree(facts: ReadinessFacts): Readiness {
  const id = 'storage_free';
  if (facts.unwritable.length > 0) {
    const summary = `No session can start: ${facts.unwritable.join(' and ')} cannot be written to.`;
    const remedies = facts.unwritable.map(
      (path) => `mount -o remount,rw "$(findmnt -no TARGET -T '${path}')"`,
    );
    return fail(id, summary, ...remedies);
  }
  const disk = facts.stateDisk;
  if (!disk || disk.totalBytes === 0) return skip(id, 'The free space of the state directory is not known.');
  const gib = disk.freeBytes / 2 ** 30;
  const share = disk.freeBytes / disk.totalBytes;
  const summary = `${gib.toFixed(1)} GiB (${Math.floor(share * 100)} %) are free at ${disk.path}.`;
  if (share >= 0.1 && gib >= 10) return pass(id, summary);
  return fail(id, summary, `Free space at ${disk.path}, or set SERVICE_HOME_ROOT to a larger disk.`);
}

/** Source: docs/homes.md, "What keeps a home from being deleted". */
function storageTrash({ homeProblems }: ReadinessFacts): Readiness {
  const id = 'storage_trash';
  const [first, ...others] = homeProblems;
  if (first === undefined) return pass(id, 'Every home that should be deleted is gone.');
  const count = homeProblems.length === 1 ? 'A home' : `${homeProblems.length} homes`;
  return fail(
    id,
    `${count} could not be deleted or put back: ${first}`.slice(0, SUMMARY_CHARACTERS),
    ...others.slice(0, 6).map((why) => `${why}.`.slice(0, SUMMARY_CHARACTERS)),
    'Remove what holds it; the agent tries again every six hours, and when it starts.',
  );
}

function appLimits(facts: ReadinessFacts): Readiness {
  const id = 'app_limits';
  if (!facts.processRuntime) return skip(id, 'Processes are not allowed on this host.');
  if (!facts.root) {
    return skip(id, 'The agent is not root: apps share its user and have no limits, as docs/limits.md says.');
  }
  if (!facts.isolated) {
    return fail(
      id,
      'This machine does not let the agent make namespaces, so apps are not kept apart from one another.',
      'Run the agent outside a container, or give it the capability SYS_ADMIN.',
    );
  }
  if (!facts.limitsWanted) return skip(id, 'No memory or processor limit is configured.');
  if (facts.cgroupsWritable) return pass(id, 'Memory and processor limits are enforced.');
  return fail(
    id,
    'The control group file system cannot be written: SERVICE_APP_MEMORY_MB and SERVICE_APP_CPUS have no effect.',
    'Mount /sys/fs/cgroup writable for the agent, or run it under systemd with Delegate=yes.',
  );
}

function appNetwork({ processRuntime, root, appNetwork: found }: ReadinessFacts): Readiness {
  const id = 'app_network';
  if (!processRuntime) return skip(id, 'Processes are not allowed on this host.');
  if (!root) {
    return skip(id, "The agent is not root: apps have this host's network, as docs/limits.md says.");
  }
  const exposed =
    "apps have this host's network: they reach its loopback, the sessions next to them and a cloud's metadata address";
  switch (found.kind) {
    case 'no_namespaces':
      return fail(
        id,
        `This machine does not let the agent make network namespaces, so ${exposed}.`,
        'Run the agent outside a container, or give it the capabilities SYS_ADMIN and NET_ADMIN.',
      );
    case 'own':
      return pass(id, 'Each app has a network of its own, which leads out and not to this host.');
    case 'not_installed':
      return fail(id, `pasta is not installed, so ${exposed}.`, 'apt-get install passt');
    case 'fails':
      return fail(
        id,
        `Apps have no network but their own loopback: ${found.why}`.slice(0, 500),
        'modprobe tun && echo tun > /etc/modules-load.d/tun.conf',
        'apt-get install nftables',
        'Where this host has no default route, give it one.',
        'Where the agent runs in a container, pass it /dev/net/tun and the capability NET_ADMIN.',
      );
  }
}

function clockOffset(facts: ReadinessFacts): Readiness {
  const id = 'clock_offset';
  if (!facts.clock) return skip(id, 'The clock has not been compared with the control plane yet.');
  const offset = Math.round(facts.clock.offset_ms);
  const summary = `This clock differs from the control plane's by ${offset} ms.`;
  if (Math.abs(offset) <= 500) return pass(id, summary);
  return fail(id, summary, 'timedatectl set-ntp true', 'The same on the machine of the control plane.');
}

function mdnsResolution(facts: ReadinessFacts): Readiness {
  const id = 'mdns_resolution';
  if (facts.mdnsProblem === null)
    return pass(id, 'Browsers that hide their address behind .local names can be found.');
  return fail(
    id,
    `Names ending in .local cannot be looked up: ${facts.mdnsProblem}`,
    'Allow multicast on the network interface and UDP port 5353 in the firewall.',
  );
}

function settings(facts: ReadinessFacts): Readiness {
  const id = 'settings';
  const waiting = facts.settingsAwaitingRestart;
  const problems = [
    ...facts.settingsProblems,
    ...(waiting.length === 0
      ? []
      : [`${waiting.join(', ')}: set, and not in force until the agent has restarted`]),
  ];
  if (problems.length === 0) return pass(id, 'All settings are in force.');
  return fail(
    id,
    problems.join('; ').slice(0, 500),
    ...(facts.settingsProblems.length === 0
      ? []
      : ['Correct them in the host settings or in the environment of the agent.']),
    ...(waiting.length === 0 ? [] : ["Restart the agent on the host's page."]),
  );
}
