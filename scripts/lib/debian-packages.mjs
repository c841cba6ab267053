// Debian 12 packages that Footlight needs, each with the reason. `scripts/up --dry-run` prints them.

/**
 * service: name of the service that Debian starts when the package is installed.
 * @typedef {{name: string, why: string, service?: string}} DebianPackage
 */

/** Compilers for the one npm package that contains no prebuilt binary. */
const buildPackages = [
  { name: 'python3', why: 'builds the SQLite binding' },
  { name: 'make', why: 'builds the SQLite binding' },
  { name: 'g++', why: 'builds the SQLite binding' },
];

/** Packages that a host needs to run, show and encode an app. */
export const hostPackages = [
  { name: 'xvfb', why: 'the virtual display of a session' },
  { name: 'xauth', why: 'the cookie that guards that display' },
  { name: 'x11-xkb-utils', why: 'the keyboard map of that display' },
  { name: 'matchbox-window-manager', why: 'gives an app the whole display and the focus' },
  { name: 'pulseaudio', why: 'the audio sink of a session' },
  { name: 'pulseaudio-utils', why: 'checks whether that audio server runs' },
  { name: 'dbus', why: 'the session bus of an app' },
  { name: 'bubblewrap', why: 'isolates an app from the host and from other sessions' },
  { name: 'libgl1-mesa-dri', why: 'OpenGL in software where there is no GPU' },
  { name: 'libgstreamer1.0-0', why: 'capture and encoding' },
  { name: 'gstreamer1.0-plugins-base', why: 'Opus, colour conversion' },
  { name: 'gstreamer1.0-plugins-good', why: 'screen capture, RTP payloaders' },
  {
    name: 'gstreamer1.0-plugins-bad',
    why: 'encoders on CPU and GPU, parsers; in tests H.265 and AV1 on the CPU',
  },
  { name: 'gstreamer1.0-pulseaudio', why: 'audio capture' },
  { name: 'gstreamer1.0-tools', why: 'gst-inspect, for reading what a host can encode' },
  { name: 'util-linux', why: 'confines the processes of a session' },
  { name: 'findutils', why: 'removes what an app left in shared directories' },
  { name: 'iproute2', why: 'names the program that holds a port; closes parts of an app’s network' },
  { name: 'passt', why: 'connects the network of an app with the host’s, without the host itself' },
  { name: 'nftables', why: 'gives each app UDP ports of its own' },
  { name: 'vainfo', why: 'reads what an Intel or AMD GPU can encode' },
];

/** The apps of the seed file that come from Debian. */
const demoPackages = [
  { name: 'xscreensaver-gl', why: 'the OpenGL animation in the library' },
  { name: 'lbreakouthd', why: 'the game in the library' },
  { name: 'xterm', why: 'the terminal in the first administrator’s library' },
  { name: 'fonts-dejavu-core', why: 'a readable font in that terminal' },
];

/** Additional packages for `scripts/up --replicas`. */
const replicaPackages = [
  { name: 'nats-server', why: 'the bus of several control planes', service: 'nats-server' },
  { name: 'haproxy', why: 'a load balancer in front of the control plane', service: 'haproxy' },
];

/** Additional packages for `scripts/up --turn`. */
const turnPackages = [{ name: 'coturn', why: 'the TURN server', service: 'coturn' }];

/** Packages that are needed only for tests and benches. */
const testPackages = [
  { name: 'chromium', why: 'the browser of the end-to-end tests' },
  { name: 'x11-utils', why: 'inspects displays from outside' },
  { name: 'weston', why: 'draws sessions on a display of the host; in tests without a display' },
  { name: 'xwayland', why: 'the X display inside it' },
  { name: 'mesa-utils', why: 'glxgears, an app that draws all the time' },
  { name: 'systemd', why: 'checks the units of the services; it is not started' },
  { name: 'curl', why: 'runs the line that adds a host' },
  { name: 'debootstrap', why: 'creates the minimal Debian that becomes a host, under --long' },
  { name: 'strace', why: 'lets system calls fail, as those of a broken disk do' },
  { name: 'podman', why: 'runs apps in containers' },
  { name: 'runc', why: 'the runtime of those containers' },
  { name: 'catatonit', why: 'the first process in them' },
  { name: 'docker-registry', why: 'the registry of images', service: 'docker-registry' },
  { name: 'prometheus', why: 'reads the metrics, and checks the alerts', service: 'prometheus' },
  { name: 'pebble', why: 'a certificate authority' },
  { name: 'nginx-light', why: 'a proxy in front of the control plane', service: 'nginx' },
  { name: 'libcap2-bin', why: 'reads what a session’s processes may do' },
  { name: 'python3-gi', why: 'the webrtcbin peer of the benches' },
  { name: 'gir1.2-gst-plugins-bad-1.0', why: 'the webrtcbin peer of the benches' },
  { name: 'gstreamer1.0-nice', why: 'the webrtcbin peer of the benches' },
];

/** Programs that the drill `real-apps` streams; only with --long. */
export const realAppPackages = [
  { name: 'mousepad', why: 'a GTK editor' },
  { name: 'featherpad', why: 'a Qt editor' },
  { name: 'neverball', why: 'a game in a window of a fixed size' },
  { name: 'mpv', why: 'a player with sound' },
  { name: 'galculator', why: 'a GTK calculator' },
  { name: 'xdg-desktop-portal', why: 'the desktop portal' },
  { name: 'xdg-desktop-portal-gtk', why: 'draws the portal’s dialogs' },
  { name: 'libglib2.0-bin', why: 'asks that portal' },
];

/** The browser of the drill `firefox`; only with --long. */
export const firefoxPackages = [
  { name: 'firefox-esr', why: 'the other browser, for the main way of a person' },
];

/** The simulated machine of the drill `packages`; only with --long. */
export const bootPackages = [
  { name: 'systemd-container', why: 'boots the minimal Debian on which the packages are installed' },
];

/** Programs of the drill `control-image`; only with --long. */
export const imagePackages = [
  { name: 'podman-compose', why: 'starts the compose files' },
  {
    name: 'golang-github-containernetworking-plugin-dnsname',
    why: 'resolves the names of containers',
  },
  { name: 'golang-go', why: 'renders the Helm chart' },
  { name: 'golang-github-masterminds-sprig-dev', why: 'functions of Helm’s templates' },
  { name: 'golang-github-xeipuuv-gojsonschema-dev', why: 'checks the values of the chart, as Helm does' },
  { name: 'golang-k8s-sigs-yaml-dev', why: 'reads the YAML of the chart, as Helm does' },
];

/**
 * All packages for `scripts/up` with these options.
 * @param {{replicas?: boolean, turn?: boolean}} [options]
 */
export const upPackages = ({ replicas = false, turn = false } = {}) => [
  ...buildPackages,
  ...hostPackages,
  ...demoPackages,
  ...(replicas ? replicaPackages : []),
  ...(turn ? turnPackages : []),
];

/** All packages for `scripts/test` and `scripts/bench`, which start the whole product and additional programs. */
export const checkPackages = [...upPackages({ replicas: true, turn: true }), ...testPackages];
