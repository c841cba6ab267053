import { quotedWord, serviceUnit } from '@footlight/platform';

/** Paths of an agent's service. */
export interface AgentUnit {
  /** Absolute paths of the Node binary and of the agent's main program. */
  node: string;
  program: string;
  environmentFile: string;
  /** Absolute; the agent's SERVICE_AGENT_STATE_DIR. */
  stateDir: string;
  /** Directories below people's homes that the agent or its apps need. */
  homePaths: readonly string[];
}

const NAME = 'footlight-agent';
export const AGENT_SERVICE = `${NAME}.service`;

/**
 * The systemd unit of the agent. Its restrictions also apply to apps that run as processes, because they are the
 * agent's children; containers are children of their engine.
 * Source: systemd.resource-control(5), as of systemd 252.
 */
export function agentUnit({ stateDir, homePaths, ...paths }: AgentUnit): string {
  return serviceUnit({
    ...paths,
    name: NAME,
    description: 'Footlight node agent',
    writtenBy: 'footlight-agent install',
    args: ['run'],
    dependencies: `After=network-online.target
# Gamepads are made through /dev/uinput; the agent itself may not load modules.
# /dev/net/tun is how pasta gives apps a network.
Wants=network-online.target modprobe@uinput.service modprobe@tun.service
After=modprobe@uinput.service modprobe@tun.service
`,
    service: `# Restart=always: a restart from the console is an exit with success.
RestartSec=2
# The first start proves every encoder of every GPU.
TimeoutStartSec=180
# KillMode=mixed: systemd asks only the agent to end. It ends its sessions in order and reports them. Then systemd kills
# what is left of its control group, apps and daemons of apps included.
TimeoutStopSec=20
# An app that runs out of memory ends alone.
OOMPolicy=continue
TasksMax=infinity
${stateDirectory(stateDir)}RuntimeDirectory=footlight-agent
CacheDirectory=footlight-agent
# GStreamer, Mesa and the NVIDIA driver keep what they found out here, and a restart does not look for it again.
Environment=XDG_CACHE_HOME=%C/footlight-agent
`,
    closed: `ProtectSystem=full
ProtectHome=${homePaths.length > 0 ? 'tmpfs' : 'yes'}
${homePaths.map((path) => `BindPaths=${quotedWord(path)}\n`).join('')}SystemCallFilter=~@clock @debug @module @obsolete @raw-io @reboot @swap
`,
    open: `# User=root: each session gets a user of its own, and its files, limits and namespaces are made for that user.
User=root
# SETUID, SETGID: to become that user. CHOWN, FOWNER, DAC_*: to make and remove homes that belong to it. KILL: to
# end its processes. SYS_PTRACE: to read whose process one is (/proc/…/environ, ns). SYS_ADMIN: mounts, process
# namespaces, networks and control groups of sessions. NET_ADMIN: to set those networks up, and to read the firewall for
# the readiness check. SETPCAP: to take every capability from apps for good. SYS_TTY_CONFIG: to take the terminal of a
# display beside the host. Nothing else.
CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_SETPCAP CAP_CHOWN CAP_FOWNER CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_KILL CAP_SYS_PTRACE CAP_SYS_ADMIN CAP_NET_ADMIN CAP_SYS_TTY_CONFIG
# Sessions have a process tree, mounts, shared memory and a network of their own; ipc and uts are also what pasta, which
# serves that network, locks itself in with. Apps with a sandbox of their own (Chromium, Flatpak, Steam) want user
# namespaces too: those run as containers, or with RestrictNamespaces=no in a drop-in and systempaths_unconfined in the
# app.
RestrictNamespaces=pid mnt net ipc uts
# Memory and processor limits of sessions are control groups below the unit's own, which Delegate hands over;
# so ProtectControlGroups stays off, and ending the unit ends every session in it.
Delegate=yes
# GPUs for encoding and rendering, uinput for gamepads, the devices that uinput makes, and tun for apps' networks; so PrivateDevices stays off.
DevicePolicy=closed
DeviceAllow=char-drm rw
DeviceAllow=char-nvidia* rw
DeviceAllow=char-kfd rw
DeviceAllow=/dev/uinput rw
DeviceAllow=/dev/net/tun rw
DeviceAllow=char-input rw
# The terminal that weston draws on where a display beside the host shows sessions; no other one.
DeviceAllow=/dev/tty7 rw
# Displays listen below /tmp/.X11-unix, which a container engine mounts into containers by its name out here; so
# PrivateTmp stays off. Engines are reached through their sockets, users of sessions are real ones (no PrivateUsers).
# Media goes straight to browsers, wherever they are; so PrivateNetwork and IPAddressDeny stay off.
# MemoryDenyWriteExecute would stop V8 and every driver that compiles shaders; SystemCallArchitectures=native and
# SystemCallFilter=~@cpu-emulation would stop 32-bit games; @mount, @privileged and @resources make sessions.
# UMask stays 0022: users of sessions pass through the agent's directories. Apps are programs of this machine; so
# RootDirectory and ProcSubset stay unset, and ProtectSystem is full and not strict: homes may lie on any disk.
`,
  });
}

/** systemd creates and owns the default directory; the agent creates others. */
function stateDirectory(stateDir: string): string {
  const below = /^\/var\/lib\/([\w.-]+(?:\/[\w.-]+)*)$/.exec(stateDir)?.[1];
  if (below === undefined) return '';
  // Users of sessions pass through it to their homes.
  return `StateDirectory=${below}\nStateDirectoryMode=0711\n`;
}
