import type { Codec } from '@footlight/protocol';
import type { RungCodec } from '@footlight/protocol/rest';

/** Converts a catalog codec to the name that sessions, agents and certifications use. */
export const toSessionCodec = (codec: RungCodec): Codec => (codec === 'hevc' ? 'h265' : codec);

/** Converts a session's codec to the name that the catalog uses. */
export const toCatalogCodec = (codec: Codec): RungCodec => (codec === 'h265' ? 'hevc' : codec);
