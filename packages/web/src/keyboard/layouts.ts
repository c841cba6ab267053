import type { KeyboardLayout } from '@footlight/protocol/input';

/** A layout that a person can choose. */
export interface OfferedLayout extends KeyboardLayout {
  /** For the session's bar: two or three letters. */
  sign: string;
  name: string;
  /** Language tags of people who mostly have it. */
  languages: readonly string[];
  /** Characters of DETECTED_KEYS without Shift; ? = not compared. */
  printed: string;
}

/** Keys that differ between layouts, in the order of `printed`. */
export const DETECTED_KEYS = [
  ...['Backquote', 'Minus', 'Equal', 'KeyQ', 'KeyW', 'KeyY', 'KeyA', 'KeyZ', 'KeyM'],
  ...['BracketLeft', 'BracketRight', 'Semicolon', 'Quote', 'Backslash', 'Slash'],
] as const;

type Row = [layout: string, variant: string | null, name: string, languages: string, printed: string];

/** Source: xkeyboard-config 2.35; the first layout of a language is the usual one. */
const ROWS: readonly Row[] = [
  ['us', null, 'English (US)', 'en', "`-=qwyazm[];'\\/"],
  ['us', 'intl', 'English (US, international)', 'nl', '`-=qwyazm[];´\\/'],
  ['gb', null, 'English (UK)', 'en-GB en-IE', "`-=qwyazm[];'#/"],
  ['be', null, 'Belgian', 'fr-BE nl-BE', '²)-azyqw,^$mùµ='],
  ['br', null, 'Brazilian', 'pt-BR', "'-=qwyazm´[ç~];"],
  ['bg', null, 'Bulgarian', 'bg', '(-.,ущьюпц;мч„б'],
  ['ca', null, 'Canadian French', 'fr-CA', '#-=qwyazm^¸;`<é'],
  ['hr', null, 'Croatian', 'hr bs', "¸'+qwzaymšđčćž-"],
  ['cz', null, 'Czech', 'cs', ';=´qwzaymú)ů§¨-'],
  ['dk', null, 'Danish', 'da', "½+´qwyazmå¨æø'-"],
  ['nl', null, 'Dutch', '', '@/°qwyazm¨*+´<-'],
  ['ee', null, 'Estonian', 'et', "ˇ+´qwyazmüõöä'-"],
  ['fi', null, 'Finnish', 'fi', "§+´qwyazmå¨öä'-"],
  ['fr', null, 'French', 'fr', '²)=azyqw,^$mù*!'],
  ['de', null, 'German', 'de', '^ß´qwzaymü+öä#-'],
  ['at', null, 'German (Austria)', 'de-AT', '^ß´qwzaymü+öä#-'],
  ['ch', null, 'German (Switzerland)', 'de-CH de-LI', "§'^qwzaymü¨öä$-"],
  ['ch', 'fr', 'French (Switzerland)', 'fr-CH it-CH', "§'^qwzaymè¨éà$-"],
  ['gr', null, 'Greek', 'el', "`-=;ςυαζμ[]´'\\/"],
  ['il', null, 'Hebrew', 'he', ";-=/'טשזצ][ף,\\."],
  ['hu', null, 'Hungarian', 'hu', '0üóqwzaymőúéáű-'],
  ['is', null, 'Icelandic', 'is', "°ö-qwyazmð'æ´+þ"],
  ['it', null, 'Italian', 'it', "\\'ìqwyazmè+òàù-"],
  ['jp', null, 'Japanese', 'ja', '?-^qwyazm@[;:]/'],
  ['kr', null, 'Korean', 'ko', "`-=qwyazm[];'\\/"],
  ['lt', null, 'Lithuanian', 'lt', "`-žqwyazm[];'\\/"],
  ['no', null, 'Norwegian', 'nb nn no', "|+\\qwyazmå¨øæ'-"],
  ['pl', null, 'Polish', 'pl', "`-=qwyazm[];'\\/"],
  ['pt', null, 'Portuguese', 'pt', "\\'«qwyazm+´çº~-"],
  ['ro', null, 'Romanian', 'ro', "`-=qwyazm[];'\\/"],
  ['ru', null, 'Russian', 'ru', 'ё-=йцнфяьхъжэ\\.'],
  ['sk', null, 'Slovak', 'sk', ';=´qwzaymúäô§ň-'],
  ['si', null, 'Slovenian', 'sl', "¸'+qwzaymšđčćž-"],
  ['es', null, 'Spanish', 'es', "º'¡qwyazm`+ñ´ç-"],
  ['latam', null, 'Spanish (Latin America)', 'es-419 es-MX es-AR es-CO es-CL es-PE es-US', "|'¿qwyazm´+ñ{}-"],
  ['se', null, 'Swedish', 'sv', "§+´qwyazmå¨öä'-"],
  ['tr', null, 'Turkish', 'tr', '"*-qwyazmğüşi,.'],
  ['ua', null, 'Ukrainian', 'uk', "'-=йцнфяьхїжєґ."],
];

export const LAYOUTS: readonly OfferedLayout[] = ROWS.map(([layout, variant, name, languages, printed]) => ({
  layout,
  variant,
  name,
  sign: layout.slice(0, 3).toUpperCase(),
  languages: languages === '' ? [] : languages.split(' '),
  printed,
}));

/** Layouts whose Option key types other characters than AltGr of a PC. Source: xkeyboard-config, variants `mac`. */
const APPLE: Readonly<Record<string, string>> = {
  ...{ de: 'mac', fr: 'mac', gb: 'mac', es: 'mac', se: 'mac', us: 'mac', dk: 'mac', no: 'mac', pt: 'mac' },
  ...{ ch: 'de_mac', 'ch fr': 'fr_mac', fi: 'mac' },
};

/** The layout as a keyboard of Apple has it; the same where none differs. */
export function asOnApple({ layout, variant }: KeyboardLayout): KeyboardLayout {
  return { layout, variant: APPLE[variant === null ? layout : `${layout} ${variant}`] ?? variant };
}

/** The offered layout of a display's map; null: one that is not offered. */
export function offered({ layout, variant }: KeyboardLayout): OfferedLayout | null {
  const same = LAYOUTS.filter((each) => each.layout === layout);
  const isApple = (each: OfferedLayout) => asOnApple(each).variant === variant;
  return same.find((each) => each.variant === variant) ?? same.find(isApple) ?? null;
}
