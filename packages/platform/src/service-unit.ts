/** The parts in which the systemd units of agent and control plane differ. serviceUnit() adds the common parts. */
export interface ServiceUnit {
  /** Name of the service, without `.service`. */
  name: string;
  description: string;
  /** Command that writes the unit file. */
  writtenBy: string;
  /** Absolute paths of the Node binary and of the main program. */
  node: string;
  program: string;
  /** Words of the program's command line. */
  args: readonly string[];
  /** File with the program's environment, one `NAME='value'` per line. */
  environmentFile: string;
  /** Lines of the sections of the unit. */
  dependencies: string;
  service: string;
  /** Restrictions that apply only to this program, in addition to the common ones. */
  closed: string;
  /** Exceptions from the common restrictions for this program, with comments that explain them. */
  open: string;
}

/** If the program's event loop hangs for this number of seconds, systemd restarts it (WatchdogSec). */
const WATCHDOG_SECS = 30;

/**
 * Text of a systemd unit. systemd restarts the program whenever it ends, for any reason. Source: systemd.service(5),
 * systemd.exec(5), as of systemd 252.
 */
export function serviceUnit(unit: ServiceUnit): string {
  return `# Written by \`${unit.writtenBy}\`, which writes it again each time. Put your own changes into a drop-in:
#   systemctl edit ${unit.name}
# The settings of the program are in ${unit.environmentFile}.

[Unit]
Description=${unit.description}
Documentation=man:systemd.exec(5)
${unit.dependencies}# No limit of restarts.
StartLimitIntervalSec=0

[Service]
# The program reports when it is ready, and that its event loop still runs.
Type=notify
NotifyAccess=main
WatchdogSec=${WATCHDOG_SECS}
ExecStart=${[unit.node, unit.program, ...unit.args].map(quotedWord).join(' ')}
EnvironmentFile=${unit.environmentFile}
Restart=always
KillMode=mixed
${unit.service}
# Restrictions.
NoNewPrivileges=yes
# A core file would contain secrets and typed text. With a limit of 1 byte instead of 0, the kernel does not start a
# core handler either (fs/coredump.c).
LimitCORE=1
ProtectProc=invisible
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
# A refused system call is an error, and does not end the program.
SystemCallErrorNumber=EPERM
${unit.closed}
# Exceptions, with reasons.
# Netlink: the addresses of this machine.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
${unit.open}
[Install]
WantedBy=multi-user.target
`;
}

/** Quotes a word of a unit file, so that `%` and `$` have no special meaning. Source: systemd.syntax(7), "Quoting". */
export function quotedWord(word: string): string {
  const literal = word.replace(/%/g, '%%');
  if (/^[\w./@:+,=%-]+$/.test(literal)) return literal;
  return `"${literal.replace(/[\\"]/g, '\\$&').replace(/\$/g, '$$$$')}"`;
}
