import type { Codec } from '@footlight/protocol';
import type { RungCodec } from '@footlight/protocol/rest';

/** Spelling of sessions, agents and certifications for a catalog codec. */
export const toSessionCodec = (codec: RungCodec): Codec => (codec === 'hevc' ? 'h265' : codec);

/** Catalog spelling of a session's codec. */
export const toCatalogCodec = (codec: Codec): RungCodec => (codec === 'h265' ? 'hevc' : codec);
