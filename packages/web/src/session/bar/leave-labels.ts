import type { InputStatus } from '@footlight/stream-client';
import { t } from '../../i18n/translate.ts';

/** How to leave full screen. With a locked keyboard, a short press of Escape is sent to the app. */
export function leaveLabel({ keyboard_locked }: Pick<InputStatus, 'keyboard_locked'>): string {
  return keyboard_locked ? t('Leave full screen (hold Esc)') : t('Leave full screen (Esc)');
}
