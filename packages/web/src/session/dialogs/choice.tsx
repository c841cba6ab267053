import { Button } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { t } from '../../i18n/translate.ts';

/** A choice of a dialog. The chosen one has a check mark. @param props.label untranslated */
export function Choice(props: { label: string; chosen: boolean; disabled?: boolean; onChoose: () => void }) {
  return (
    <Button
      aria-pressed={props.chosen}
      disabled={props.disabled ?? false}
      {...(props.chosen ? { leftSection: <IconCheck size={16} aria-hidden="true" /> } : {})}
      onClick={props.onChoose}
    >
      {t(props.label)}
    </Button>
  );
}
