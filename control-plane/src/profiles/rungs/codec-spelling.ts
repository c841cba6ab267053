import type { Codec } from '@footlight/protocol';
import type { RungCodec } from '@footlight/protocol/rest';

/** A codec of the catalog as sessions, agents and certifications spell it. */
export const toSessionCodec = (codec: RungCodec): Codec => (codec === 'hevc' ? 'h265' : codec);

/** A codec of a session as the catalog spells it. */
export const toCatalogCodec = (codec: Codec): RungCodec => (codec === 'h265' ? 'hevc' : codec);
