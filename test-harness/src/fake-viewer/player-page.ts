/** Page with the player for tests in a real browser: one <video>, one surface, states stored on window. */
import {
  createStreamClient,
  type StreamClient,
  type StreamState,
  type StreamStats,
  type TraceEvent,
} from '@footlight/stream-client';

export interface PlayerWindow {
  client: StreamClient;
  states: StreamState[];
  allStats: StreamStats[];
  traces: TraceEvent[];
  /** positions of requested context menus */
  menus: string[];
}

const video = document.querySelector('video') as HTMLVideoElement;
const surface = document.querySelector('#surface') as HTMLElement;
const player = window as unknown as PlayerWindow;
player.states = [];
player.allStats = [];
player.traces = [];
player.menus = [];
player.client = createStreamClient({
  video,
  surface,
  connectSignaling: async () => ({
    url: new URLSearchParams(location.search).get('signal') ?? '',
    token: 't',
  }),
  onState: (state) => player.states.push(state),
  onStats: (stats) => player.allStats.push(stats),
  onTrace: (event) => player.traces.push(event),
});
player.client.connect();
