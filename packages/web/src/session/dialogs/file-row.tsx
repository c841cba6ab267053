import type { FileEntry } from '@footlight/protocol/files';
import { Button } from '@mantine/core';
import { IconDownload, IconFile, IconFolder, IconPencil, IconTrash } from '@tabler/icons-react';
import { memo } from 'react';
import { t } from '../../i18n/translate.ts';
import { sizeLabel } from '../files/file-transfers.ts';
import styles from './dialogs.module.css';

/** What a person can do with the entries of a folder. */
export interface FileActions {
  choose: (entry: FileEntry, isChosen: boolean) => void;
  open: (folder: FileEntry) => void;
  download: (file: FileEntry) => void;
  rename: (entry: FileEntry) => void;
  /** Only asks at the first press. */
  remove: (entry: FileEntry, isAsked: boolean) => void;
}

/**
 * A file or folder in the list of a folder, with its actions. Rendered again only for its own changes, because a folder
 * can have a thousand rows.
 */
export const FileRow = memo(function FileRow(props: {
  entry: FileEntry;
  chosen: boolean;
  /** the person pressed Delete once */
  asked: boolean;
  canRename: boolean;
  actions: FileActions;
}) {
  const { entry, asked, actions } = props;
  const { name: file, kind } = entry;
  return (
    <li className={styles.file}>
      {kind === 'other' ? (
        <span className={styles.check} />
      ) : (
        <label className={styles.check}>
          <input
            type="checkbox"
            aria-label={t('Select {file}', { file })}
            checked={props.chosen}
            onChange={(event) => actions.choose(entry, event.currentTarget.checked)}
          />
        </label>
      )}
      {kind === 'folder' ? <IconFolder size={18} /> : <IconFile size={18} />}
      {kind === 'folder' ? (
        <button type="button" className={styles.folder} onClick={() => actions.open(entry)}>
          {file}
        </button>
      ) : (
        <span className={styles.title}>{file}</span>
      )}
      <small>{kind === 'file' ? sizeLabel(entry.size) : ''}</small>
      <span className={styles.rowActions}>
        {kind === 'file' && (
          <Button
            size="xs"
            aria-label={t('Download {file}', { file })}
            onClick={() => actions.download(entry)}
          >
            <IconDownload size={16} />
          </Button>
        )}
        {kind !== 'other' && props.canRename && (
          <Button
            size="xs"
            aria-label={t('Rename {file}', { file })}
            data-renames={file}
            onClick={() => actions.rename(entry)}
          >
            <IconPencil size={16} />
          </Button>
        )}
        {kind !== 'other' && (
          <Button
            size="xs"
            aria-label={asked ? t('Delete {file} permanently', { file }) : t('Delete {file}', { file })}
            {...(asked ? { color: 'danger', variant: 'filled' } : {})}
            onClick={() => actions.remove(entry, asked)}
          >
            {asked ? t('Delete') : <IconTrash size={16} />}
          </Button>
        )}
      </span>
    </li>
  );
});
