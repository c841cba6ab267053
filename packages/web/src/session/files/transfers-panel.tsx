import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { t } from '../../i18n/translate.ts';
import { type FileTransfers, sizeLabel, type TransferView } from './file-transfers.ts';
import styles from './files.module.css';

/** Running file transfers, shown over the picture: progress, result, and a button to stop each transfer. */
export default function TransfersPanel(props: { transfers: readonly TransferView[]; files: FileTransfers }) {
  return (
    <section className={styles.panel} aria-label={t('Transfers')} data-stream-overlay="">
      {props.transfers.map((each) => (
        <div key={each.id} className={styles.transfer} data-state={each.state}>
          <span className={styles.name}>{each.name}</span>
          <ActionIcon
            aria-label={
              each.state === 'done' || each.state === 'failed'
                ? t('Hide {file}', { file: each.name })
                : t('Cancel {file}', { file: each.name })
            }
            onClick={() => props.files.cancel(each.id)}
          >
            <IconX size={18} />
          </ActionIcon>
          {each.state === 'done' || each.state === 'failed' ? (
            <small role="status">{each.label}</small>
          ) : (
            <>
              <progress
                max={Math.max(1, each.size)}
                value={each.moved}
                aria-label={t('{file} is on its way', { file: each.name })}
              />
              <small>
                {t('{moved} of {size}', { moved: sizeLabel(each.moved), size: sizeLabel(each.size) })}
              </small>
            </>
          )}
        </div>
      ))}
    </section>
  );
}
