import { saidByServer } from '../api/server-sentences.ts';
import { msg } from '../i18n/translate.ts';

/** Descriptions of the demo apps (scripts/bring-up/demo-apps.mjs). */
export const DEMO_DESCRIPTIONS = [
  msg('An OpenGL animation: mirrors, lights and dust, drawn live on the host.'),
  msg('The classic: one paddle, one ball, a wall of bricks. Mouse or arrow keys.'),
  msg('A shell on the host, as a user without rights of its own.'),
  msg('A moving test pattern, a 440 Hz tone, and a field that shows every key and click.'),
] as const;

/** An app's description; those of the demo apps are translated, and others are shown as an administrator wrote them. */
export const describedAs = (description: string): string => saidByServer(description, DEMO_DESCRIPTIONS);
