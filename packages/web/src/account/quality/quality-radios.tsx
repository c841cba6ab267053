import { Button } from '@mantine/core';
import { type Ref, useEffect, useId, useRef, useState } from 'react';
import { StateChip, type Tone } from '../../components/state-chip.tsx';
import { t } from '../../i18n/translate.ts';
import type { QualityChoice, QualityChoices } from './quality-choices.ts';
import styles from './quality-radios.module.css';

const TONES: Readonly<Record<QualityChoice['suitability'], Tone>> = {
  recommended: 'success',
  eligible: 'neutral',
  risky: 'warning',
  ineligible: 'danger',
};

/**
 * The choice of a quality: a few with plain names; all of them on request, or if the chosen one is not among the few.
 */
export function QualityRadios(props: {
  choices: QualityChoices;
  /** id of the choice */
  chosen: string;
  /** whether the person is not allowed to choose */
  decided?: boolean;
  onPick: (id: string) => void;
  group?: Ref<HTMLDivElement>;
}) {
  const { choices, chosen, decided = false } = props;
  const name = useId();
  const list = useRef<HTMLDivElement>(null);
  const [expanded, setExpanded] = useState(false);
  const isIn = (list: readonly QualityChoice[]) => list.some(({ id }) => id === chosen);
  const isShort = !expanded && (isIn(choices.short) || !isIn(choices.all));
  const shown = isShort ? choices.short : choices.all;
  useEffect(() => {
    // The pressed button is gone, so the focus goes to the choices.
    if (expanded) list.current?.querySelector<HTMLElement>('input:checked')?.focus();
  }, [expanded]);
  return (
    <div ref={props.group} className={styles.choices}>
      <div ref={list} role="radiogroup" aria-label={t('Picture quality')}>
        {shown.map((choice) => (
          <label key={choice.id} className={styles.choice}>
            <input
              type="radio"
              name={name}
              value={choice.id}
              checked={choice.id === chosen}
              disabled={choice.suitability === 'ineligible' || (decided && choice.id !== '')}
              {...(choice.id === chosen ? { 'data-autofocus': true } : {})}
              onChange={() => props.onPick(choice.id)}
            />
            <span className={styles.text}>
              <span className={styles.name}>
                <strong>{choice.name}</strong>
                {choice.chip !== null && (
                  <StateChip tone={TONES[choice.suitability]}>{t(choice.chip)}</StateChip>
                )}
              </span>
              <span className={styles.label}>{choice.label}</span>
            </span>
          </label>
        ))}
      </div>
      {shown.length < choices.all.length && (
        <Button variant="subtle" onClick={() => setExpanded(true)}>
          {t('Show all qualities')}
        </Button>
      )}
    </div>
  );
}
