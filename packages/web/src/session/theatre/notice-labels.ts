import type { ControlErrorCode } from '@footlight/protocol';
import { msg, t } from '../../i18n/translate.ts';

/** Codes of messages to the person, from the control channel and from the player. */
type NoticeCode = ControlErrorCode | 'clipboard_too_long';

const BY_CODE: Readonly<Record<NoticeCode, string>> = {
  keyboard_layout_unknown: msg(
    'The machine of this app does not have your keyboard layout. Keys may type other characters.',
  ),
  input_malformed: msg('The connection was closed, because the host could not read your input.'),
  input_flood: msg('The connection was closed, because this page sent more input than the host accepts.'),
  clipboard_too_long: msg('The app did not get what you pasted: it is longer than 64 KiB.'),
};

/** A message in the person's language. A message with an unknown code is shown unchanged. */
export function noticeLabel({ code, text }: { code: string; text: string }): string {
  return Object.hasOwn(BY_CODE, code) ? t(BY_CODE[code as NoticeCode]) : text;
}
