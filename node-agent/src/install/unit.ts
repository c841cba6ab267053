/** Paths of an agent's service. */
export interface AgentUnit {
  /** Absolute paths of the Node binary and of the agent's main program. */
  node: string;
  program: string;
  /** File with the agent's environment, one `NAME='value'` a line. */
  environmentFile: string;
  /** Absolute; the agent's SERVICE_AGENT_STATE_DIR. */
  stateDir: string;
  /** Directories below people's homes that the agent or its apps need. */
  homePaths: readonly string[];
}

export const AGENT_SERVICE = 'footlight-agent.service';
/** systemd restarts an agent whose event loop hangs for this long (seconds; WatchdogSec). */
export const WATCHDOG_SECS = 30;

/**
 * The systemd unit of the agent. Its restrictions also apply to apps that run as processes, because they are the
 * agent's children; containers are children of their engine.
 * Source: systemd.service(5), systemd.exec(5), systemd.resource-control(5), as of systemd 252.
 */
export function agentUnit(unit: AgentUnit): string {
  return `# Written by \`footlight-agent install\`, which writes it again each time. Changes of yours belong into a drop-in:
#   systemctl edit footlight-agent
# What the agent is told (SERVICE_…) lies in ${unit.environmentFile}.

[Unit]
Description=Footlight node agent
Documentation=man:systemd.exec(5)
After=network-online.target
# Gamepads are made through /dev/uinput; the agent itself may not load modules.
# /dev/net/tun is how pasta gives apps a network.
Wants=network-online.target modprobe@uinput.service modprobe@tun.service
After=modprobe@uinput.service modprobe@tun.service
# However often it ended, it is started again.
StartLimitIntervalSec=0

[Service]
# The agent says when it is ready, what it is doing, and that its event loop still turns.
Type=notify
NotifyAccess=main
WatchdogSec=${WATCHDOG_SECS}
ExecStart=${quoted(unit.node)} ${quoted(unit.program)} run
EnvironmentFile=${unit.environmentFile}
# A restart from the console is an exit, with success.
Restart=always
RestartSec=2
# The first start proves every encoder of every GPU.
TimeoutStartSec=180
# The agent alone is asked to end, ends its sessions in order and reports them; whatever is left of its control
# group then is killed, apps and daemons of apps included.
KillMode=mixed
TimeoutStopSec=20
# An app that runs out of memory ends alone.
OOMPolicy=continue
TasksMax=infinity
${stateDirectory(unit.stateDir)}RuntimeDirectory=footlight-agent
CacheDirectory=footlight-agent
# GStreamer, Mesa and the NVIDIA driver keep what they found out here, and a restart does not look for it again.
Environment=XDG_CACHE_HOME=%C/footlight-agent

# What is closed.
NoNewPrivileges=yes
# A core file would hold the host's secret and what people typed; apps write none either. With 1 byte instead of 0 the
# kernel starts no handler of cores either (fs/coredump.c).
LimitCORE=1
ProtectSystem=full
ProtectHome=${unit.homePaths.length > 0 ? 'tmpfs' : 'yes'}
${unit.homePaths.map((path) => `BindPaths=${quoted(path)}\n`).join('')}ProtectProc=invisible
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectClock=yes
ProtectHostname=yes
PrivateMounts=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
KeyringMode=private
SystemCallFilter=~@clock @debug @module @obsolete @raw-io @reboot @swap
# A program that asks for one of these is refused, not killed: games ask for things that they can do without.
SystemCallErrorNumber=EPERM

# What is open, and why.
# User=root: each session gets a user of its own, and its files, limits and namespaces are made for that user.
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
# Media goes straight to browsers, wherever they are; so PrivateNetwork and IPAddressDeny stay off. Netlink: the
# addresses of this machine.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
# MemoryDenyWriteExecute would stop V8 and every driver that compiles shaders; SystemCallArchitectures=native and
# SystemCallFilter=~@cpu-emulation would stop 32-bit games; @mount, @privileged and @resources make sessions.
# UMask stays 0022: users of sessions pass through the agent's directories. Apps are programs of this machine; so
# RootDirectory and ProcSubset stay unset, and ProtectSystem is full and not strict: homes may lie on any disk.

[Install]
WantedBy=multi-user.target
`;
}

/** systemd creates and owns the default directory; the agent creates others. */
function stateDirectory(stateDir: string): string {
  const below = /^\/var\/lib\/([\w.-]+(?:\/[\w.-]+)*)$/.exec(stateDir)?.[1];
  if (below === undefined) return '';
  // Users of sessions pass through it to their homes.
  return `StateDirectory=${below}\nStateDirectoryMode=0711\n`;
}

/** Quotes a word of a unit file; `%` and `$` are literal. Source: systemd.syntax(7), "Quoting". */
function quoted(word: string): string {
  const literal = word.replace(/%/g, '%%');
  return /^[\w./@:+,=%-]+$/.test(literal)
    ? literal
    : `"${literal.replace(/[\\"]/g, '\\$&').replace(/\$/g, '$$$$')}"`;
}
