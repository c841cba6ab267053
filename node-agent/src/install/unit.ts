import { quotedWord, serviceUnit } from '@footlight/platform';

/** Paths of an agent's service. */
export interface AgentUnit {
  /** Absolute paths of the Node binary and of the agent's main program. */
  node: string;
  program: string;
  environmentFile: string;
  /** Absolute path of the state directory (SERVICE_AGENT_STATE_DIR). */
  stateDir: string;
  /** Directories below people's homes that the agent or its apps need. */
  homePaths: readonly string[];
  /** Whether the fallback port of media is below 1024. */
  lowPort: boolean;
}

const NAME = 'footlight-agent';
export const AGENT_SERVICE = `${NAME}.service`;

/**
 * The systemd unit of the agent. Its restrictions also apply to apps that run as processes, because these apps are
 * child processes of the agent. They do not apply to containers, whose parent is the container engine. Source:
 * systemd.resource-control(5), as of systemd 252.
 */
export function agentUnit({ stateDir, homePaths, lowPort, ...paths }: AgentUnit): string {
  return serviceUnit({
    ...paths,
    name: NAME,
    description: 'Footlight node agent',
    writtenBy: 'footlight-agent install',
    args: ['run'],
    dependencies: `After=network-online.target
# The agent may not load kernel modules itself: uinput for gamepads, tun for the apps' networks (pasta).
Wants=network-online.target modprobe@uinput.service modprobe@tun.service
After=modprobe@uinput.service modprobe@tun.service
`,
    service: `# Restart=always, because a restart from the admin page is an exit with status 0.
RestartSec=2
# The first start tests every encoder of every GPU.
TimeoutStartSec=180
# KillMode=mixed: systemd sends SIGTERM only to the agent, which ends its sessions in order and reports them. Then
# systemd kills the remaining processes of the control group, including apps and their daemons.
TimeoutStopSec=20
# If an app runs out of memory, only this app is killed.
OOMPolicy=continue
TasksMax=infinity
${stateDirectory(stateDir)}RuntimeDirectory=footlight-agent
CacheDirectory=footlight-agent
# Caches of GStreamer, Mesa and the NVIDIA driver, which make later starts faster.
Environment=XDG_CACHE_HOME=%C/footlight-agent
`,
    closed: `ProtectSystem=full
ProtectHome=${homePaths.length > 0 ? 'tmpfs' : 'yes'}
${homePaths.map((path) => `BindPaths=${quotedWord(path)}\n`).join('')}SystemCallFilter=~@clock @debug @module @obsolete @raw-io @reboot @swap
`,
    open: `# User=root: each session gets its own user, and the agent creates files, limits and namespaces for that user.
User=root
# SETUID, SETGID: to change to that user. CHOWN, FOWNER, DAC_*: to create and remove the user's homes. KILL: to end the
# user's processes. SYS_PTRACE: to find the session of a process (/proc/…/environ, ns). SYS_ADMIN: mounts, process
# namespaces, networks and control groups of sessions. SYS_CHROOT: to enter the mounts of a session (setns). NET_ADMIN:
# to set up these networks, and to read the firewall rules for the readiness check. SETPCAP: to remove every capability
# from apps permanently. SYS_TTY_CONFIG: to use the terminal of a display of the host. NET_BIND_SERVICE: to open a
# fallback port of media below 1024, if one is configured. Nothing else.
CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_SETPCAP CAP_CHOWN CAP_FOWNER CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_KILL CAP_SYS_PTRACE CAP_SYS_ADMIN CAP_SYS_CHROOT CAP_NET_ADMIN CAP_SYS_TTY_CONFIG${lowPort ? ' CAP_NET_BIND_SERVICE' : ''}
# Each session has its own process tree, mounts, shared memory and network. pasta, which serves the network, also uses
# ipc and uts to isolate itself. Apps with their own sandbox (Chromium, Flatpak, Steam) need user namespaces too: run
# them as containers, or with RestrictNamespaces=no in a drop-in and systempaths_unconfined in the app.
RestrictNamespaces=pid mnt net ipc uts
# Memory and processor limits of sessions are control groups below the unit's own group, which Delegate permits.
# Therefore ProtectControlGroups is off, and stopping the unit ends every session.
Delegate=yes
# GPUs for encoding and rendering, uinput for gamepads, the input devices that it creates, and tun for the apps'
# networks. Therefore PrivateDevices is off.
DevicePolicy=closed
DeviceAllow=char-drm rw
DeviceAllow=char-nvidia* rw
DeviceAllow=char-kfd rw
DeviceAllow=/dev/uinput rw
DeviceAllow=/dev/net/tun rw
DeviceAllow=char-input rw
# The only terminal: weston draws on it when a display of the host shows sessions.
DeviceAllow=/dev/tty7 rw
# PrivateTmp is off: displays listen below /tmp/.X11-unix, which a container engine mounts by its path on the host.
# PrivateUsers is off: users of sessions are real users of the host.
# PrivateNetwork and IPAddressDeny are off: media is sent directly to browsers at any address.
# MemoryDenyWriteExecute is off: it would break V8 and every driver that compiles shaders. SystemCallArchitectures=native
# and SystemCallFilter=~@cpu-emulation would break 32-bit games. Sessions need @mount, @privileged and @resources.
# UMask stays 0022: users of sessions traverse the agent's directories. RootDirectory and ProcSubset stay unset, because
# apps are programs of this machine. ProtectSystem is full and not strict, because homes may be on any disk.
`,
  });
}

/**
 * A state directory below /var/lib is created and owned by systemd; a state directory elsewhere is created by the
 * agent.
 */
function stateDirectory(stateDir: string): string {
  const below = /^\/var\/lib\/([\w.-]+(?:\/[\w.-]+)*)$/.exec(stateDir)?.[1];
  if (below === undefined) return '';
  // Mode 0711, because the users of sessions traverse it to reach their homes.
  return `StateDirectory=${below}\nStateDirectoryMode=0711\n`;
}
