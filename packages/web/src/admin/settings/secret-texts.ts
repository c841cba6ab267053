import { saidByServer } from '../../api/server-sentences.ts';
import { msg } from '../../i18n/translate.ts';

/** What the server says about secrets (control-plane/src/settings: secret-names.ts, secret-cipher.ts). */
export const SECRET_SENTENCES = [
  msg('SteamGridDB API key'),
  msg('Lets the server look up and download cover art from SteamGridDB.'),
  msg('The master key does not match: SERVICE_SECRET_KEY is not set. Set it again.'),
  msg(
    'The master key does not match: the value was stored under version {version}, which is not set. Add that key to SERVICE_SECRET_KEY_PREVIOUS, or set the secret again.',
  ),
  msg(
    'The master key does not match: version {version} does not open the stored value. Give the right key that version, or set the secret again.',
  ),
] as const;

/** A text about a secret in the person's language; a text of a newer server stays as it is. */
export const secretText = (text: string): string => saidByServer(text, SECRET_SENTENCES);
