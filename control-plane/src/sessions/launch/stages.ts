/** The stages of a launch: request → admitted → placed → booked. */
import type { EncoderFamily } from '@footlight/protocol';
import type { Body, Placement, StreamProfile } from '@footlight/protocol/rest';
import type { ClientFacts, ProfileWithRungs } from '../../profiles/index.ts';
import type { SignalingToken } from '../../signaling/index.ts';
import type { Assignment, MergedRuntime } from '../app-spec.ts';
import type { Demand, GpuFacts, Pin } from '../placement/placement.ts';
import type { ServingFacts } from '../placement/placement-store.ts';
import type { SessionRow } from '../record.ts';
import type { ServedStream } from '../stream/serve.ts';
import type { Viewer } from '../stream/stream.ts';
import type { LaunchApp } from './app-store.ts';

/** The account of a launch. */
export interface LaunchUser {
  userId: string;
  role: 'user' | 'admin';
  /** Device of the sign-in; null: the sign-in has no device. */
  deviceId: string | null;
}

/**
 * The stream that a bench session measures. The stream is fixed, and its encoder may differ from the one that the host
 * normally uses.
 */
export interface BenchTerms {
  encoder: EncoderFamily;
  /** The launch profile that the rung is measured for. */
  profileId: string;
  rung: StreamProfile;
  bitrateKbps: number;
}

/** Terms of a launch that a person cannot choose. */
export interface LaunchTerms {
  /** local_only: the picture is not encoded and not streamed. */
  topology: 'stream_only' | 'local_only' | 'dual_output';
  /** null: any host. */
  pin: Pin | null;
  skipVramVeto: boolean;
  /** null: not a measurement. */
  bench: BenchTerms | null;
}

/** Terms of a launch by a person. */
export const PERSONAL_TERMS: LaunchTerms = {
  topology: 'stream_only',
  pin: null,
  skipVramVeto: false,
  bench: null,
};

export type LaunchBody = Body<'sessions.launch'>;

/** A request for a launch. */
export interface LaunchRequest {
  user: LaunchUser;
  body: LaunchBody;
  terms: LaunchTerms;
}

/** A launch that passed all checks that need no locks. */
export interface AdmittedLaunch extends LaunchRequest {
  app: LaunchApp;
  /** Owner of runtime, resources and home: the parent of a tile, otherwise the app itself. */
  owner: LaunchApp;
  runtime: MergedRuntime;
  homeProvider: 'local' | 'volume';
  demand: Demand;
  /** Chosen launch profile; null: a tier within the app's own size, frame rate and bitrate is used. */
  profile: ProfileWithRungs | null;
  /** All launch profiles, for a step down to a lower one. */
  profiles: readonly ProfileWithRungs[];
  client: ClientFacts;
  viewer: Viewer;
  mic: boolean;
  recorder: boolean;
}

/** The GPU that was chosen for a launch. */
export interface ChosenGpu {
  launch: AdmittedLaunch;
  gpu: GpuFacts;
  /** Explanation at the time of the choice of the GPU. */
  explanation: Placement;
}

/** A launch with booked slots of a GPU and with the stream that the GPU will encode. */
export interface PlacedLaunch extends ChosenGpu {
  serving: ServingFacts;
  served: ServedStream;
}

/** A launch whose slots, home and row are stored. */
export interface BookedLaunch {
  row: SessionRow;
  /** null: the session is local and needs none. */
  token: SignalingToken | null;
  assignment: Assignment;
}
