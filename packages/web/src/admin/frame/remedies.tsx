import { Fragment } from 'react';
import { CopyLine } from '../../components/copy-line.tsx';
import { t } from '../../i18n/translate.ts';
import { isSentence } from './remedy-lines.ts';

/**
 * Remedies: commands to copy, and sentences, which end with a full stop, or with a colon before a command. Commands
 * without such a colon get a line that says where to run them.
 * @param props.label names the fault for screen readers
 */
export function Remedies({ lines, label }: { lines: readonly string[]; label: string }) {
  return lines.map((line, index) => {
    if (isSentence(line)) return <p key={line}>{line}</p>;
    const before = lines[index - 1];
    return (
      <Fragment key={line}>
        {(before === undefined || before.endsWith('.')) && <p>{t('On the host, as root:')}</p>}
        <CopyLine value={line} label={label} />
      </Fragment>
    );
  });
}
