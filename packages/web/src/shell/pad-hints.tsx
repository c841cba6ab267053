import { useRouterState } from '@tanstack/react-router';
import type { InputKind } from '../focus/input-kind.ts';
import { type PadAction, signOf } from '../focus/pad-kind.ts';
import { msg, t } from '../i18n/translate.ts';
import styles from './shell.module.css';

const IN_LIBRARY: readonly [PadAction, key: string, label: string][] = [
  ['accept', '↵', msg('Open')],
  ['favourite', 'F', msg('Favourite')],
  ['quality', 'Q', msg('Quality')],
  ['find', '/', msg('Find')],
  ['menu', '', msg('Menu')],
];
const ELSEWHERE: readonly [PadAction, key: string, label: string][] = [
  ['accept', '↵', msg('Choose')],
  ['back', '', msg('Back')],
];

/**
 * Shows the actions of the gamepad's buttons, or of the keys, while the person uses them. Buttons have the labels of
 * the gamepad's maker.
 */
export function PadHints({ input }: { input: Exclude<InputKind, 'pointer'> }) {
  const inLibrary = useRouterState({ select: ({ location }) => location.pathname === '/app' });
  const hints = (inLibrary ? IN_LIBRARY : ELSEWHERE)
    .map(([action, key, label]) => ({ label, sign: input === 'keys' ? key : signOf(input, action) }))
    .filter(({ sign }) => sign !== '');
  return (
    // Hidden from screen readers, because they announce the actions of the controls.
    <ul className={styles.hints} data-pad={input} aria-hidden="true">
      {hints.map(({ label, sign }) => (
        <li key={label}>
          <kbd>{sign}</kbd> {t(label)}
        </li>
      ))}
    </ul>
  );
}
