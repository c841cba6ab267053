/** All cache keys of the user area, so that a mutation can name the caches to invalidate. */
export const keys = {
  me: ['me'] as const,
  devices: ['devices'] as const,
  storage: ['storage'] as const,
  profilePreference: ['profile-preference'] as const,
  profileOffer: ['profile-offer'] as const,
  highlights: ['highlights'] as const,
  uiPreferences: ['ui-preferences'] as const,
  setup: ['setup'] as const,
  signOn: ['sign-on'] as const,
  apps: ['apps'] as const,
  app: (id: string) => ['app', id] as const,
  sessions: ['sessions'] as const,
  session: (id: string) => ['session', id] as const,
  sessionGuests: (id: string) => ['session', id, 'guests'] as const,
  sessionVerdict: (id: string) => ['session', id, 'verdict'] as const,
};
