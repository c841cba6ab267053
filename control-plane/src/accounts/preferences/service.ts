import type { JsonObject } from '@footlight/protocol';
import type { UiPreferences } from '@footlight/protocol/rest';
import { invalid } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { createKeyedQueue } from '../../platform/queues/keyed-queue.ts';
import { loadUiPreferences, lockUiPreferences, storeUiPreferences } from './store.ts';
import { encodeUiPreferences, mergeUiPreferences } from './ui-preferences.ts';

/** A person's settings of the web app. */
export interface Preferences {
  readUi(userId: string): Promise<UiPreferences>;
  /** @throws ApiError validation_failed when the document would be too long; nothing is written */
  updateUi(userId: string, patch: JsonObject): Promise<UiPreferences>;
}

export function createPreferences(platform: Pick<Platform, 'database'>): Preferences {
  const { database } = platform;
  // A document has up to 64 KiB. The changes of one person run one after another, so that many of them do not delay
  // other people's requests.
  const queue = createKeyedQueue();
  return {
    async readUi(userId) {
      return mergeUiPreferences(await loadUiPreferences(database.db, userId), {});
    },

    updateUi: (userId, patch) =>
      queue(userId, () =>
        database.transaction(async (tx) => {
          const document = mergeUiPreferences(await lockUiPreferences(tx, userId), patch);
          const text = encodeUiPreferences(document);
          if (text === null) throw invalid('The settings would be longer than 64 KiB; remove some first.');
          await storeUiPreferences(tx, userId, text);
          return document;
        }),
      ),
  };
}
