import { execFileSync } from 'node:child_process';
import { type NamespacePath, openNamespacePath } from '../bench/media/slow-path.ts';
import { startTurnServer, type TurnServer, type TurnServerOptions } from '../src/turn-server.ts';

/**
 * Address of the TURN server. The server has a namespace of its own, with a link to the browser and one to the host. On
 * the host itself, the kernel would answer the server from another address than the one that was asked.
 */
export const TURN_ADDRESS = '10.231.78.1';
export const TURN_PORT = 3478;
const NAMESPACE = `fl-turn-${process.pid}`;
const TABLE = `footlight_turn_${process.pid}`;
export const HTTPS = 443;
/** An nft condition that every packet meets. */
export const ALL = 'meta length > 0';

/** nft conditions of the browser's packets that pass. The pages are always reachable, by HTTPS on port 443. */
export interface PassingPackets {
  host: readonly string[];
  turn: readonly string[];
}

/** A browser, a TURN server and this machine as the host, each in a network of its own. */
export interface TurnNetwork {
  readonly path: NamespacePath;
  /** Serves the pages of this address of the control plane on port 443 of the browser's gateway. */
  servePages(httpsUrl: string): void;
  startServer(options: Pick<TurnServerOptions, 'secret' | 'tls'>): Promise<TurnServer>;
  /** Drops all packets of the browser except these. They are dropped on arrival, so that the browser gets no error. */
  allow(passing: PassingPackets): void;
  close(): void;
}

/** @throws when this machine allows no network namespace */
export function openTurnNetwork(): TurnNetwork {
  const path = openNamespacePath();
  if (path === null) throw new Error('this machine allows no network namespace');
  connectTurnServer(path.namespace);
  return {
    path,
    servePages(httpsUrl) {
      nft(
        [],
        `table ip ${TABLE} {
          chain pages {
            type nat hook prerouting priority dstnat; policy accept;
            iifname "${path.device}" tcp dport ${HTTPS} redirect to :${new URL(httpsUrl).port}
          }
        }`,
      );
    },
    startServer: (options) =>
      startTurnServer({ address: TURN_ADDRESS, port: TURN_PORT, namespace: NAMESPACE, ...options }),
    allow({ host, turn }) {
      nft([], passTable(path.device, [`meta l4proto tcp ct original proto-dst ${HTTPS}`, ...host]));
      nft(['ip', 'netns', 'exec', NAMESPACE], passTable('browser', turn));
    },
    close() {
      path.close();
      removeTurnServer();
    },
  };
}

/** A table that drops the packets from a device that meet none of the conditions. */
function passTable(device: string, conditions: readonly string[]): string {
  return `
    table ip footlight_path
    delete table ip footlight_path
    table ip footlight_path {
      chain block {
        type filter hook input priority filter; policy accept;
        iifname "${device}" jump passes
      }
      chain passes {
        ${conditions.map((condition) => `${condition} accept`).join('\n        ')}
        drop
      }
    }`;
}

function run(command: string): void {
  execFileSync('/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'] });
}

function nft([program = 'nft', ...words]: string[], rules: string): void {
  const args = program === 'nft' ? ['-f', '-'] : [...words, 'nft', '-f', '-'];
  execFileSync(program, args, { input: rules, stdio: ['pipe', 'ignore', 'pipe'] });
}

/** Creates the namespace of the TURN server, with a link to the browser's namespace and one to this machine. */
function connectTurnServer(browser: string): void {
  const links = [`flt${process.pid}`, `flu${process.pid}`] as const;
  const inside = `ip -n ${NAMESPACE}`;
  run(`ip netns add ${NAMESPACE} && ${inside} link set lo up`);
  run(`ip link add ${links[0]} netns ${browser} type veth peer name browser netns ${NAMESPACE}`);
  run(`ip -n ${browser} addr add 10.231.78.2/30 dev ${links[0]} && ip -n ${browser} link set ${links[0]} up`);
  run(`${inside} addr add ${TURN_ADDRESS}/30 dev browser && ${inside} link set browser up`);
  run(`ip link add ${links[1]} type veth peer name host netns ${NAMESPACE}`);
  run(`ip addr add 10.231.79.1/30 dev ${links[1]} && ip link set ${links[1]} up`);
  run(`${inside} addr add 10.231.79.2/30 dev host && ${inside} link set host up`);
  run(`${inside} route add default via 10.231.79.1 && ip route add ${TURN_ADDRESS} via 10.231.79.2`);
}

function removeTurnServer(): void {
  for (const command of [
    `ip link del flu${process.pid}`,
    `ip netns del ${NAMESPACE}`,
    `nft delete table ip ${TABLE}`,
    'nft delete table ip footlight_path',
  ])
    try {
      run(command);
    } catch {
      // It was never created.
    }
}
