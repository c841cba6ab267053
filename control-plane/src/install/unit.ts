import { serviceUnit } from '@footlight/platform';

/** Paths and options of the control plane's unit. */
export interface ControlUnit {
  /** Absolute paths of the Node binary and the main program, readable for all users. */
  node: string;
  program: string;
  environmentFile: string;
  /** Command that writes the unit file. */
  writtenBy: string;
  /** Whether the service uses a port below 1024. */
  lowPort: boolean;
}

const NAME = 'footlight-control';
export const CONTROL_SERVICE = `${NAME}.service`;
/** StateDirectory= of the unit. */
export const DATA_DIR = '/var/lib/service-control';

/**
 * Text of the control plane's systemd unit. The service runs as a dynamic user with access only to its data and the
 * network.
 */
export function controlUnit({ lowPort, ...paths }: ControlUnit): string {
  return serviceUnit({
    ...paths,
    name: NAME,
    description: 'Footlight control plane',
    args: [],
    dependencies: `After=network-online.target postgresql.service
Wants=network-online.target
`,
    service: `# Reads the certificate again.
ExecReload=/bin/sh -c 'kill -HUP $MAINPID'
RestartSec=1
# Migrations of a large database run at the start.
TimeoutStartSec=600
TimeoutStopSec=15
# A user that exists while the service runs. Only this user can read the data, which include the certificate's key.
DynamicUser=yes
User=footlight-control
StateDirectory=service-control
StateDirectoryMode=0700
# The setup token is here until an administrator exists.
RuntimeDirectory=service
RuntimeDirectoryMode=0700
UMask=0077
`,
    closed: `CapabilityBoundingSet=${lowPort ? 'CAP_NET_BIND_SERVICE' : ''}
AmbientCapabilities=${lowPort ? 'CAP_NET_BIND_SERVICE' : ''}
ProtectSystem=strict
ProtectHome=yes
ProcSubset=pid
ProtectControlGroups=yes
PrivateTmp=yes
PrivateDevices=yes
${lowPort ? '# With a user namespace of its own it could not bind a low port, so PrivateUsers stays off.\n' : 'PrivateUsers=yes\n'}RestrictNamespaces=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
`,
    open: `# Browsers and agents connect from everywhere, and pictures come from providers; so PrivateNetwork and IPAddressDeny
# stay off. The generated certificate names the addresses of this machine. Unix: a local Postgres.
# MemoryDenyWriteExecute would stop V8. The program is where it was unpacked, beside the programs of the machine; so
# RootDirectory stays unset. systemd sets DeviceAllow itself, for ProtectClock.
`,
  });
}
