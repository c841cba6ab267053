import type { ArtworkEnvelope } from '@footlight/protocol/rest';
import { ApiError } from '../../platform/errors.ts';
import type { Secrets } from '../../settings/index.ts';
import { PROVIDER_NAME, type Provider } from './steamgriddb.ts';

/** Provider facts that every answer about artwork contains. */
export type ProviderFacts = Omit<ArtworkEnvelope, 'artwork'>;

/** The provider's current availability. */
export interface Availability {
  facts: ProviderFacts;
  /** null: no provider is configured. */
  provider: Provider | null;
}

/**
 * Evaluated for each request, so that a newly stored key applies at once.
 * @param deps.staticKey a key from tests that replaces all other keys
 */
export function createAvailability(deps: {
  choice: 'steamgriddb' | 'none';
  secrets: Secrets;
  connect: (key: string) => Provider;
  staticKey: string | null;
}): () => Promise<Availability> {
  const { choice, secrets, connect, staticKey } = deps;
  return async () => {
    if (choice === 'none') {
      return {
        facts: { provider_configured: false, provider_name: '', provider_origin: 'none' },
        provider: null,
      };
    }
    if (staticKey !== null) {
      return {
        facts: { provider_configured: true, provider_name: PROVIDER_NAME, provider_origin: 'static' },
        provider: connect(staticKey),
      };
    }
    const { origin, value, problem } = await secrets.resolve('artwork.steamgriddb.api_key');
    return {
      facts: {
        provider_configured: value !== null,
        provider_name: PROVIDER_NAME,
        provider_origin: origin,
        ...(problem !== undefined && { provider_problem: problem }),
      },
      provider: value === null ? null : connect(value),
    };
  };
}

/** @throws ApiError conflict when no provider is configured */
export function requireProvider({ facts, provider }: Availability): Provider {
  if (provider) return provider;
  throw new ApiError('conflict', {
    message:
      facts.provider_problem ??
      (facts.provider_name === ''
        ? 'The artwork lookup is switched off by SERVICE_ARTWORK_PROVIDER.'
        : 'No artwork provider is configured: set the API key of SteamGridDB first.'),
  });
}
