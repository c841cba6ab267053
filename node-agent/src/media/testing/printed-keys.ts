import { KEY_CODES } from '@footlight/protocol/input';

/** Keys of a PC keyboard: rows from the top, each row from the left. */
const ROWS = [
  'Backquote Digit1 Digit2 Digit3 Digit4 Digit5 Digit6 Digit7 Digit8 Digit9 Digit0 Minus Equal IntlYen',
  'KeyQ KeyW KeyE KeyR KeyT KeyY KeyU KeyI KeyO KeyP BracketLeft BracketRight',
  'KeyA KeyS KeyD KeyF KeyG KeyH KeyJ KeyK KeyL Semicolon Quote Backslash',
  'IntlBackslash KeyZ KeyX KeyC KeyV KeyB KeyN KeyM Comma Period Slash IntlRo',
].map((row) => row.split(' '));
const HELD = [[], ['ShiftLeft'], ['AltRight']] as const;
/** For each dead key: the letter that is typed after it, and the character that both give. */
const AFTER_DEAD: Readonly<Record<string, readonly [letter: string, both: string]>> = {
  '`': ['e', 'è'],
  '´': ['e', 'é'],
  '^': ['e', 'ê'],
  '¨': ['e', 'ë'],
  '~': ['n', 'ñ'],
};

/** A key, its modifiers, and the character printed on the key. */
export interface PrintedKey {
  /** evdev codes, in the order in which the keys are pressed. */
  codes: readonly number[];
  /** KeyboardEvent.code, for the test's title. */
  name: string;
  /** The printed character; for a dead key, the character that the following letter completes. */
  character: string;
  /** evdev code of the letter that follows a dead key; null: an ordinary key. */
  letter: number | null;
}

/**
 * Characters printed on the keys of a layout: without a modifier, with Shift and with AltGr. Each group has four rows.
 * ∅: nothing is printed, or a dead key that few people know. Source: xkeyboard-config 2.35.
 */
export const PRINTED: Readonly<Record<string, readonly string[]>> = {
  us: [
    '` 1 2 3 4 5 6 7 8 9 0 - = ∅',
    'q w e r t y u i o p [ ]',
    "a s d f g h j k l ; ' \\",
    '< z x c v b n m , . / ∅',
    '~ ! @ # $ % ^ & * ( ) _ + ∅',
    'Q W E R T Y U I O P { }',
    'A S D F G H J K L : " |',
    '> Z X C V B N M < > ? ∅',
  ],
  'us intl': [
    'dead` 1 2 3 4 5 6 7 8 9 0 - = ∅',
    'q w e r t y u i o p [ ]',
    'a s d f g h j k l ; dead´ \\',
    '\\ z x c v b n m , . / ∅',
    'dead~ ! @ # $ % dead^ & * ( ) _ + ∅',
    'Q W E R T Y U I O P { }',
    'A S D F G H J K L : dead¨ |',
    '| Z X C V B N M < > ? ∅',
    '` ¡ ² ³ ¤ € ¼ ½ ¾ ‘ ’ ¥ × ∅',
    'ä å é ® þ ü ú í ó ö « »',
    "á ß ð f g h j œ ø ¶ ' ¬",
    '\\ æ x © v b ñ µ ç ∅ ¿ ∅',
  ],
  gb: [
    '` 1 2 3 4 5 6 7 8 9 0 - = ∅',
    'q w e r t y u i o p [ ]',
    "a s d f g h j k l ; ' #",
    '\\ z x c v b n m , . / ∅',
    '¬ ! " £ $ % ^ & * ( ) _ + ∅',
    'Q W E R T Y U I O P { }',
    'A S D F G H J K L : @ ~',
    '| Z X C V B N M < > ? ∅',
    '| ¹ ² ³ € ½ ¾ { [ ] } \\ ∅ ∅',
    '@ ſ e ¶ ŧ ← ↓ → ø þ dead¨ dead~',
    'æ ß ð đ ŋ ħ ∅ ĸ ł dead´ dead^ dead`',
    '| « » ¢ „ “ ” µ • · ∅ ∅',
  ],
  de: [
    'dead^ 1 2 3 4 5 6 7 8 9 0 ß dead´ ∅',
    'q w e r t z u i o p ü +',
    'a s d f g h j k l ö ä #',
    '< y x c v b n m , . - ∅',
    '° ! " § $ % & / ( ) = ? dead` ∅',
    'Q W E R T Z U I O P Ü *',
    "A S D F G H J K L Ö Ä '",
    '> Y X C V B N M ; : _ ∅',
    '′ ¹ ² ³ ¼ ½ ¬ { [ ] } \\ ∅ ∅',
    '@ ſ € ¶ ŧ ← ↓ → ø þ dead¨ ~',
    'æ ſ ð đ ŋ ħ ∅ ĸ ł ∅ dead^ ’',
    '| » « ¢ „ “ ” µ · … – ∅',
  ],
  fr: [
    '² & é " \' ( - è _ ç à ) = ∅',
    'a z e r t y u i o p dead^ $',
    'q s d f g h j k l m ù *',
    '< w x c v b n , ; : ! ∅',
    '~ 1 2 3 4 5 6 7 8 9 0 ° + ∅',
    'A Z E R T Y U I O P dead¨ £',
    'Q S D F G H J K L M % µ',
    '> W X C V B N ? . / § ∅',
    '¬ ¹ ~ # { [ | ` \\ ^ @ ] } ∅',
    'æ « € ¶ ŧ ← ↓ → ø þ dead¨ ¤',
    '@ ß ð đ ŋ ħ ∅ ĸ ł µ dead^ dead`',
    '| ł » ¢ „ “ ” dead´ • · ∅ ∅',
  ],
  ch: [
    "§ 1 2 3 4 5 6 7 8 9 0 ' dead^ ∅",
    'q w e r t z u i o p ü dead¨',
    'a s d f g h j k l ö ä $',
    '< y x c v b n m , . - ∅',
    '° + " * ç % & / ( ) = ? dead` ∅',
    'Q W E R T Z U I O P è !',
    'A S D F G H J K L é à £',
    '> Y X C V B N M ; : _ ∅',
    '¬ | @ # ¼ ½ ¬ | ¢ ] } dead´ dead~ ∅',
    '@ ſ € ¶ ŧ ← ↓ → œ þ [ ]',
    'æ ß ð đ ŋ ħ ∅ ĸ ł dead´ { }',
    '\\ « » ¢ „ “ ” µ • · ∅ ∅',
  ],
  es: [
    "º 1 2 3 4 5 6 7 8 9 0 ' ¡ ∅",
    'q w e r t y u i o p dead` +',
    'a s d f g h j k l ñ dead´ ç',
    '< z x c v b n m , . - ∅',
    'ª ! " · $ % & / ( ) = ? ¿ ∅',
    'Q W E R T Y U I O P dead^ *',
    'A S D F G H J K L Ñ dead¨ Ç',
    '> Z X C V B N M ; : _ ∅',
    '\\ | @ # ~ ½ ¬ { [ ] } \\ ∅ ∅',
    '@ ſ € ¶ ŧ ← ↓ → ø þ [ ]',
    'æ ß ð đ ŋ ħ ∅ ĸ ł dead~ { }',
    '| « » ¢ „ “ ” µ • · ∅ ∅',
  ],
  it: [
    "\\ 1 2 3 4 5 6 7 8 9 0 ' ì ∅",
    'q w e r t y u i o p è +',
    'a s d f g h j k l ò à ù',
    '< z x c v b n m , . - ∅',
    '| ! " £ $ % & / ( ) = ? ^ ∅',
    'Q W E R T Y U I O P é *',
    'A S D F G H J K L ç ° §',
    '> Z X C V B N M ; : _ ∅',
    '¬ ¹ ² ³ ¼ ½ ¬ { [ ] } ` ~ ∅',
    '@ ſ € ¶ ŧ ← ↓ → ø þ [ ]',
    'æ ß ð đ ŋ ħ ∅ ĸ ł @ # dead`',
    '« « » ¢ “ ” ñ µ dead´ · ∅ ∅',
  ],
  pl: [
    '` 1 2 3 4 5 6 7 8 9 0 - = ∅',
    'q w e r t y u i o p [ ]',
    "a s d f g h j k l ; ' \\",
    '< z x c v b n m , . / ∅',
    '~ ! @ # $ % ^ & * ( ) _ + ∅',
    'Q W E R T Y U I O P { }',
    'A S D F G H J K L : " |',
    '> Z X C V B N M < > ? ∅',
    '¬ ≠ ² ³ ¢ € ½ § · « » – ∅ ∅',
    'π œ ę © ß ← ↓ → ó þ dead¨ dead~',
    'ą ś ð æ ŋ ’ ə … ł dead´ dead^ dead`',
    '| ż ź ć „ ” ń µ ≤ ≥ ∅ ∅',
  ],
  se: [
    '§ 1 2 3 4 5 6 7 8 9 0 + dead´ ∅',
    'q w e r t y u i o p å dead¨',
    "a s d f g h j k l ö ä '",
    '< z x c v b n m , . - ∅',
    '½ ! " # ¤ % & / ( ) = ? dead` ∅',
    'Q W E R T Y U I O P Å dead^',
    'A S D F G H J K L Ö Ä *',
    '> Z X C V B N M ; : _ ∅',
    '¶ ¡ @ £ $ € ¥ { [ ] } \\ ± ∅',
    '@ ſ € ® þ ← ↓ → œ þ dead¨ dead~',
    'ª ß ð đ ŋ ħ ∅ ĸ ł ø æ ´',
    '| « » © „ “ ” µ ∅ · ∅ ∅',
  ],
  jp: [
    '∅ 1 2 3 4 5 6 7 8 9 0 - ^ \\',
    'q w e r t y u i o p @ [',
    'a s d f g h j k l ; : ]',
    '< z x c v b n m , . / \\',
    '∅ ! " # $ % & \' ( ) ~ = ~ |',
    'Q W E R T Y U I O P ` {',
    'A S D F G H J K L + * }',
    '> Z X C V B N M < > ? _',
  ],
  br: [
    "' 1 2 3 4 5 6 7 8 9 0 - = ∅",
    'q w e r t y u i o p dead´ [',
    'a s d f g h j k l ç dead~ ]',
    '\\ z x c v b n m , . ; /',
    '" ! @ # $ % dead¨ & * ( ) _ + ∅',
    'Q W E R T Y U I O P dead` {',
    'A S D F G H J K L Ç dead^ }',
    '| Z X C V B N M < > : ?',
    '¬ ¹ ² ³ £ ¢ ¬ { [ ] } \\ § ∅',
    '/ ? ° ® ŧ ← ↓ → ø þ ´ ª',
    'æ ß ð đ ŋ ħ ∅ ĸ ł dead´ ~ º',
    '∅ « » © „ “ ” µ • · ∅ °',
  ],
};

/** Keys of a layout that type a character, according to PRINTED. */
export function printedKeys(layout: string): PrintedKey[] {
  const rows = PRINTED[layout] ?? [];
  const keyOf = (letter: string) => {
    const row = rows.slice(0, ROWS.length).findIndex((printed) => printed.split(' ').includes(letter));
    return evdev(ROWS[row]?.[rows[row]?.split(' ').indexOf(letter) ?? -1] ?? '');
  };
  return rows.flatMap((printed, index) =>
    printed.split(' ').flatMap((token, column): PrintedKey[] => {
      const code = ROWS[index % ROWS.length]?.[column] ?? '';
      const held = HELD[Math.floor(index / ROWS.length)] ?? [];
      if (token === '∅') return [];
      const dead = token.startsWith('dead') ? AFTER_DEAD[token.slice(4)] : undefined;
      return [
        {
          codes: [...held, code].map(evdev),
          name: [...held, code].join('+'),
          character: dead?.[1] ?? token,
          letter: dead === undefined ? null : keyOf(dead[0]),
        },
      ];
    }),
  );
}

function evdev(code: string): number {
  return KEY_CODES.get(code) ?? 0;
}
