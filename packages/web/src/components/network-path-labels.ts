import type { NetworkPath } from '@footlight/protocol/telemetry';
import { msg } from '../i18n/translate.ts';

/** Names of the paths of a stream, untranslated. */
export const NETWORK_PATH_LABELS: Readonly<Record<NetworkPath, string>> = {
  udp: msg('Direct, UDP'),
  tcp: msg('Direct, TCP'),
  turn_udp: msg('TURN over UDP'),
  turn_tcp: msg('TURN over TCP'),
  turn_tls: msg('TURN over TLS'),
};
