/** Paths and options of the control plane's unit. */
export interface ControlUnit {
  /** Absolute paths of the Node binary and the main program, readable for all users. */
  node: string;
  program: string;
  environmentFile: string;
  /** The service binds a port below 1024. */
  lowPort: boolean;
}

export const CONTROL_SERVICE = 'footlight-control.service';
/** systemd restarts a control plane whose event loop hangs for this long (seconds; WatchdogSec). */
const WATCHDOG_SECS = 30;

/**
 * The systemd unit of the control plane: a dynamic user, its data, and the network.
 * Source: systemd.service(5), systemd.exec(5), as of systemd 252.
 */
export function controlUnit(unit: ControlUnit): string {
  return `# Written by \`scripts/control-plane install\`, which writes it again each time. Changes of yours belong into a drop-in:
#   systemctl edit footlight-control
# What the control plane is told lies in ${unit.environmentFile}.

[Unit]
Description=Footlight control plane
Documentation=man:systemd.exec(5)
After=network-online.target postgresql.service
Wants=network-online.target
# However often it ended, it is started again.
StartLimitIntervalSec=0

[Service]
# It tells when it listens, and that its event loop still turns.
Type=notify
NotifyAccess=main
WatchdogSec=${WATCHDOG_SECS}
ExecStart=${quoted(unit.node)} ${quoted(unit.program)}
EnvironmentFile=${unit.environmentFile}
Restart=always
RestartSec=1
# Migrations of a large database run at the start.
TimeoutStartSec=600
KillMode=mixed
TimeoutStopSec=15
# A user that exists while the service runs. The data, the certificate's key among them, are readable to it alone.
DynamicUser=yes
User=footlight-control
StateDirectory=service-control
StateDirectoryMode=0700
# The setup token lies here until an administrator exists.
RuntimeDirectory=service
RuntimeDirectoryMode=0700
UMask=0077

# What is closed.
NoNewPrivileges=yes
# A core file would hold keys and tokens. With 1 byte instead of 0 the kernel starts no handler of cores either
# (fs/coredump.c).
LimitCORE=1
CapabilityBoundingSet=${unit.lowPort ? 'CAP_NET_BIND_SERVICE' : ''}
AmbientCapabilities=${unit.lowPort ? 'CAP_NET_BIND_SERVICE' : ''}
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProcSubset=pid
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
${unit.lowPort ? '# A user namespace of its own would take the right to bind a low port away; so PrivateUsers stays off.\n' : 'PrivateUsers=yes\n'}RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

# What is open, and why.
# Browsers and agents come from everywhere, and pictures are fetched from providers; so PrivateNetwork and
# IPAddressDeny stay off. Netlink: the addresses that the generated certificate names. Unix: a local Postgres.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
# MemoryDenyWriteExecute would stop V8. It runs from where it was unpacked, beside the programs of the machine; so
# RootDirectory stays unset. DeviceAllow is systemd's own, for ProtectClock.

[Install]
WantedBy=multi-user.target
`;
}

/** Quotes a word of a unit file; `%` and `$` are literal. Source: systemd.syntax(7), "Quoting". */
function quoted(word: string): string {
  const literal = word.replace(/%/g, '%%');
  if (/^[\w./@:+,=%-]+$/.test(literal)) return literal;
  return `"${literal.replace(/[\\"]/g, '\\$&').replace(/\$/g, '$$$$')}"`;
}
