import { ActionIcon, Button, TextInput } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { t } from '../../i18n/translate.ts';
import { type DiagnosisSearch, WINDOW_MINUTES } from '../../search/diagnosis-search.ts';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import styles from './diagnosis.module.css';
import { exactTimeLabel, timeLabel } from './time-labels.ts';
import { fieldOf, instantOf, momentBeside } from './window-choice.ts';

const LENGTHS = WINDOW_MINUTES.map((minutes) => ({ value: String(minutes), label: `${minutes} min` }));

/** Chooses the moment and the length of the shown window. @param props.shown undefined while loading */
export function WindowControls(props: {
  search: DiagnosisSearch;
  shown: { from_ms: number; to_ms: number } | undefined;
  live: boolean;
  onSearch: (search: DiagnosisSearch) => void;
}) {
  const { search, shown, live, onSearch } = props;
  const chosen = search.at === undefined ? undefined : fieldOf(search.at);
  const [field, setField] = useState(chosen ?? '');
  useEffect(() => {
    if (chosen !== undefined) setField(chosen);
  }, [chosen]);
  // Fills the field only once, so that the person only has to type the time. A live window would overwrite the field
  // every 5 s.
  const middle = shown === undefined ? undefined : fieldOf((shown.from_ms + shown.to_ms) / 2);
  const isKnown = middle !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    if (isKnown) setField((typed) => (typed === '' ? middle : typed));
  }, [isKnown]);
  const goTo = (at: number | undefined) => {
    const { at: _former, ...rest } = search;
    onSearch(at === undefined ? rest : { ...rest, at });
  };
  const step = (direction: -1 | 1) => shown !== undefined && goTo(momentBeside(shown, direction));
  return (
    <div className={styles.controls}>
      <form
        className={styles.moment}
        onSubmit={(event) => {
          event.preventDefault();
          goTo(instantOf(field));
        }}
      >
        <TextInput
          label={t('Moment')}
          type="datetime-local"
          step={1}
          value={field}
          onChange={(event) => setField(event.currentTarget.value)}
        />
        <Button type="submit">{t('Show')}</Button>
      </form>
      <SegmentedChoice
        label={t('Length of the window')}
        value={String(search.minutes ?? '')}
        options={[{ value: '', label: t('Automatic') }, ...LENGTHS]}
        onChange={(value) => {
          const { minutes: _former, ...rest } = search;
          const minutes = WINDOW_MINUTES.find((each) => String(each) === value);
          onSearch(minutes === undefined ? rest : { ...rest, minutes });
        }}
      />
      <div className={styles.steps}>
        <ActionIcon size={36} aria-label={t('One window earlier')} onClick={() => step(-1)}>
          <IconChevronLeft size={20} />
        </ActionIcon>
        <ActionIcon size={36} aria-label={t('One window later')} onClick={() => step(1)}>
          <IconChevronRight size={20} />
        </ActionIcon>
        {search.at !== undefined && (
          <Button variant="subtle" onClick={() => goTo(undefined)}>
            {live ? t('Follow the newest') : t('Go to the end')}
          </Button>
        )}
      </div>
      {shown !== undefined && (
        <p className={styles.shown}>
          {live && search.at === undefined
            ? t('{from} to {to}, refreshed every 5 s', {
                from: exactTimeLabel(shown.from_ms),
                to: timeLabel(shown.to_ms),
              })
            : t('{from} to {to}', { from: exactTimeLabel(shown.from_ms), to: timeLabel(shown.to_ms) })}
        </p>
      )}
    </div>
  );
}
