import type { KeyboardLayout } from '@footlight/protocol/input';
import { localeTag, msg, t } from '../i18n/translate.ts';

/** A layout that a person can choose. */
export interface OfferedLayout extends KeyboardLayout {
  /** Short form for the session's bar: two or three letters. */
  sign: string;
  /** name of the layout, untranslated */
  name: string;
  /** Language tags of people who usually have this layout. */
  languages: readonly string[];
  /** Characters of DETECTED_KEYS without Shift; ? = not compared. */
  printed: string;
}

/** Keys whose characters differ between layouts, in the order of `printed`. */
export const DETECTED_KEYS = [
  ...['Backquote', 'Minus', 'Equal', 'KeyQ', 'KeyW', 'KeyY', 'KeyA', 'KeyZ', 'KeyM'],
  ...['BracketLeft', 'BracketRight', 'Semicolon', 'Quote', 'Backslash', 'Slash'],
] as const;

type Row = [layout: string, variant: string | null, name: string, languages: string, printed: string];

/** Source: xkeyboard-config 2.35. The first layout of a language is the usual layout. */
const ROWS: readonly Row[] = [
  ['us', null, msg('English (US)'), 'en', "`-=qwyazm[];'\\/"],
  ['us', 'intl', msg('English (US, international)'), 'nl', '`-=qwyazm[];´\\/'],
  ['gb', null, msg('English (UK)'), 'en-GB en-IE', "`-=qwyazm[];'#/"],
  ['be', null, msg('Belgian'), 'fr-BE nl-BE', '²)-azyqw,^$mùµ='],
  ['br', null, msg('Brazilian'), 'pt-BR', "'-=qwyazm´[ç~];"],
  ['bg', null, msg('Bulgarian'), 'bg', '(-.,ущьюпц;мч„б'],
  ['ca', null, msg('Canadian French'), 'fr-CA', '#-=qwyazm^¸;`<é'],
  ['hr', null, msg('Croatian'), 'hr bs', "¸'+qwzaymšđčćž-"],
  ['cz', null, msg('Czech'), 'cs', ';=´qwzaymú)ů§¨-'],
  ['dk', null, msg('Danish'), 'da', "½+´qwyazmå¨æø'-"],
  ['nl', null, msg('Dutch'), '', '@/°qwyazm¨*+´<-'],
  ['ee', null, msg('Estonian'), 'et', "ˇ+´qwyazmüõöä'-"],
  ['fi', null, msg('Finnish'), 'fi', "§+´qwyazmå¨öä'-"],
  ['fr', null, msg('French'), 'fr', '²)=azyqw,^$mù*!'],
  ['de', null, msg('German'), 'de', '^ß´qwzaymü+öä#-'],
  ['at', null, msg('German (Austria)'), 'de-AT', '^ß´qwzaymü+öä#-'],
  ['ch', null, msg('German (Switzerland)'), 'de-CH de-LI', "§'^qwzaymü¨öä$-"],
  ['ch', 'fr', msg('French (Switzerland)'), 'fr-CH it-CH', "§'^qwzaymè¨éà$-"],
  ['gr', null, msg('Greek'), 'el', "`-=;ςυαζμ[]´'\\/"],
  ['il', null, msg('Hebrew'), 'he', ";-=/'טשזצ][ף,\\."],
  ['hu', null, msg('Hungarian'), 'hu', '0üóqwzaymőúéáű-'],
  ['is', null, msg('Icelandic'), 'is', "°ö-qwyazmð'æ´+þ"],
  ['it', null, msg('Italian'), 'it', "\\'ìqwyazmè+òàù-"],
  ['jp', null, msg('Japanese'), 'ja', '?-^qwyazm@[;:]/'],
  ['kr', null, msg('Korean'), 'ko', "`-=qwyazm[];'\\/"],
  ['lt', null, msg('Lithuanian'), 'lt', "`-žqwyazm[];'\\/"],
  ['no', null, msg('Norwegian'), 'nb nn no', "|+\\qwyazmå¨øæ'-"],
  ['pl', null, msg('Polish'), 'pl', "`-=qwyazm[];'\\/"],
  ['pt', null, msg('Portuguese'), 'pt', "\\'«qwyazm+´çº~-"],
  ['ro', null, msg('Romanian'), 'ro', "`-=qwyazm[];'\\/"],
  ['ru', null, msg('Russian'), 'ru', 'ё-=йцнфяьхъжэ\\.'],
  ['sk', null, msg('Slovak'), 'sk', ';=´qwzaymúäô§ň-'],
  ['si', null, msg('Slovenian'), 'sl', "¸'+qwzaymšđčćž-"],
  ['es', null, msg('Spanish'), 'es', "º'¡qwyazm`+ñ´ç-"],
  [
    'latam',
    null,
    msg('Spanish (Latin America)'),
    'es-419 es-MX es-AR es-CO es-CL es-PE es-US',
    "|'¿qwyazm´+ñ{}-",
  ],
  ['se', null, msg('Swedish'), 'sv', "§+´qwyazmå¨öä'-"],
  ['tr', null, msg('Turkish'), 'tr', '"*-qwyazmğüşi,.'],
  ['ua', null, msg('Ukrainian'), 'uk', "'-=йцнфяьхїжєґ."],
];

export const LAYOUTS: readonly OfferedLayout[] = ROWS.map(([layout, variant, name, languages, printed]) => ({
  layout,
  variant,
  name,
  sign: layout.slice(0, 3).toUpperCase(),
  languages: languages === '' ? [] : languages.split(' '),
  printed,
}));

/**
 * The layouts with their names in the person's language, sorted by name.
 * @returns with their index in LAYOUTS
 */
export function namedLayouts(): { index: number; label: string }[] {
  return LAYOUTS.map(({ name }, index) => ({ index, label: t(name) })).sort((one, other) =>
    one.label.localeCompare(other.label, localeTag()),
  );
}

/** Layouts whose Option key types other characters than AltGr on a PC. Source: xkeyboard-config, variants `mac`. */
const APPLE: Readonly<Record<string, string>> = {
  ...{ de: 'mac', fr: 'mac', gb: 'mac', es: 'mac', se: 'mac', us: 'mac', dk: 'mac', no: 'mac', pt: 'mac' },
  ...{ ch: 'de_mac', 'ch fr': 'fr_mac', fi: 'mac' },
};

/** The Apple variant of the layout; the layout itself if it has none. */
export function asOnApple({ layout, variant }: KeyboardLayout): KeyboardLayout {
  return { layout, variant: APPLE[variant === null ? layout : `${layout} ${variant}`] ?? variant };
}

/** The offered layout that equals a display's keyboard map; null: the map is not offered. */
export function offered({ layout, variant }: KeyboardLayout): OfferedLayout | null {
  const same = LAYOUTS.filter((each) => each.layout === layout);
  const isApple = (each: OfferedLayout) => asOnApple(each).variant === variant;
  return same.find((each) => each.variant === variant) ?? same.find(isApple) ?? null;
}
