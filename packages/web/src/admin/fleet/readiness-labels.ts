import { saidByServer } from '../../api/server-sentences.ts';
import { msg, t } from '../../i18n/translate.ts';

/** Names of the agent's readiness checks (node-agent/src/readiness/checks.ts). */
const NAMES: Readonly<Record<string, string>> = {
  media_reachability: msg('Viewers reach the host'),
  media_fallback: msg('Fallback port of media'),
  container_runtime: msg('Containers'),
  gpu_driver: msg('GPU driver'),
  render_node_access: msg('Access to the GPU'),
  encoder_probe: msg('Encoder in use'),
  gstreamer_plugins: msg('GStreamer elements'),
  input_devices: msg('Gamepads'),
  console_display: msg('Display at the host'),
  audio_server: msg('Sound'),
  storage_free: msg('Free disk space'),
  storage_trash: msg('Deletion of homes'),
  app_limits: msg('Limits of apps'),
  app_network: msg('Network of apps'),
  clock_offset: msg('Clock'),
  mdns_resolution: msg('Names of browsers (mDNS)'),
  settings: msg('Settings'),
};
const TABLE = 'encoder_table_';

/** The name of a check; a check of a newer agent is shown by its id. */
export function checkName(id: string): string {
  const name = Object.hasOwn(NAMES, id) ? NAMES[id] : undefined;
  if (name !== undefined) return t(name);
  if (id.startsWith(TABLE)) return t('Encoders: {family}', { family: id.slice(TABLE.length) });
  const label = id.replaceAll('_', ' ');
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** What the checks say, and the remedies that are sentences (node-agent/src/readiness/checks.ts). */
export const CHECK_SENTENCES = [
  msg('This host has no address besides loopback, so no viewer can receive its picture.'),
  msg('Connect a network interface, or set SERVICE_MEDIA_ADDRESSES to an address of this host.'),
  msg('Whether the firewall lets viewers in cannot be told: {why}.'),
  msg("Look through the firewall's rules as root: they must let in UDP ports {ports}."),
  msg('No firewall rule of this host keeps viewers out.'),
  msg('The firewall keeps out what viewers send to UDP ports {ports} ({where}).'),
  msg('This host has no fallback port for media.'),
  msg(
    'The firewall closes the fallback port {port} ({transports}), so viewers whose network blocks the media ports get no picture.',
  ),
  msg("Look through the firewall's rules as root: they must let in port {port} by UDP and TCP."),
  msg('No firewall program of this host says whether the fallback port is open.'),
  msg('No firewall rule of this host closes the fallback port.'),
  msg('No container engine listens on this host; apps run as processes.'),
  msg('Or, if you trust all administrators, let apps run as processes:'),
  msg('Apps run in containers of {name} {version}.'),
  msg('Run nvidia-smi by hand; after a driver update restart this host.'),
  msg('This host has no GPU; it encodes on the CPU.'),
  msg('There is no render node on this host.'),
  msg('The agent can open every render node.'),
  msg('The agent cannot open {nodes}.'),
  msg('Then start the agent again.'),
  msg('Choose another encoder in the host settings, or install what the message names.'),
  msg('The GStreamer elements of the encoder in use are installed.'),
  msg('Virtual gamepads can be made.'),
  msg('Gamepads do not work: /dev/uinput is missing, or the agent may not read and write it.'),
  msg('Where the agent runs in a container, pass it /dev/uinput and /dev/input.'),
  msg('No app is set to appear on a display that is plugged into this host.'),
  msg('Sessions can be shown on the display beside this host.'),
  msg('PulseAudio is installed.'),
  msg('Sessions have no sound: PulseAudio is not installed.'),
  msg('No session can start: {paths} cannot be written to.'),
  msg('The free space of the state directory is not known.'),
  msg('{gib} GiB ({percent} %) are free at {path}.'),
  msg('Free space at {path}, or set SERVICE_HOME_ROOT to a larger disk.'),
  msg('Every home that should be deleted is gone.'),
  msg('Remove what holds it; the agent tries again every six hours, and when it starts.'),
  msg('Processes are not allowed on this host.'),
  msg('The agent is not root: apps share its user and have no limits, as docs/limits.md says.'),
  msg('This machine does not let the agent make namespaces, so apps are not kept apart from one another.'),
  msg('Run the agent outside a container, or give it the capability SYS_ADMIN.'),
  msg('No memory or processor limit is configured.'),
  msg('Memory and processor limits are enforced.'),
  msg(
    'The control group file system cannot be written: SERVICE_APP_MEMORY_MB and SERVICE_APP_CPUS have no effect.',
  ),
  msg('Mount /sys/fs/cgroup writable for the agent, or run it under systemd with Delegate=yes.'),
  msg("The agent is not root: apps have this host's network, as docs/limits.md says."),
  msg('Run the agent outside a container, or give it the capabilities SYS_ADMIN and NET_ADMIN.'),
  msg('Each app has a network of its own, which leads out and not to this host.'),
  msg('Where this host has no default route, give it one.'),
  msg('Where the agent runs in a container, pass it /dev/net/tun and the capability NET_ADMIN.'),
  msg('The clock has not been compared with the control plane yet.'),
  msg("This clock differs from the control plane's by {ms} ms."),
  msg('The same on the machine of the control plane.'),
  msg('Browsers that hide their address behind .local names can be found.'),
  msg('Names ending in .local cannot be looked up: {why}'),
  msg('Allow multicast on the network interface and UDP port 5353 in the firewall.'),
  msg('All settings are in force.'),
  msg('Correct them in the host settings or in the environment of the agent.'),
  msg("Restart the agent on the host's page."),
  // Last, because its placeholders fit other sentences as well.
  msg('{family} encodes {codecs}.'),
] as const;

/** A sentence of a check in the person's language. Commands and sentences of a newer agent stay as they are. */
export const checkSentence = (text: string): string => saidByServer(text, CHECK_SENTENCES);
