import type { FileEntry } from '@footlight/protocol/files';
import { Button } from '@mantine/core';
import { IconDownload, IconFile, IconFolder, IconTrash } from '@tabler/icons-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { t } from '../../i18n/translate.ts';
import { type FileTransfers, sizeLabel } from '../files/file-transfers.ts';
import styles from './dialogs.module.css';

/** The home of the session's app: its files and folders with download and delete, and a field to upload files. */
export default function FilesDialog(props: { onClose: () => void; files: FileTransfers; maxFileMb: number }) {
  const { files } = props;
  const [path, setPath] = useState('');
  const [loaded, setLoaded] = useState<{ path: string; entries: FileEntry[]; truncated: boolean } | null>(
    null,
  );
  const [problem, setProblem] = useState<string | null>(null);
  const [asked, setAsked] = useState<string | null>(null);
  const chooser = useRef<HTMLInputElement>(null);
  /** name of the file whose download began last; null: none */
  const [fetched, setFetched] = useState<string | null>(null);
  const place = useRef(path);
  const load = useCallback(() => {
    setAsked(null);
    // The person may have opened another folder during the deletion.
    const isHere = () => place.current === path;
    if (!isHere()) return;
    files.list(path).then(
      (listing) => {
        if (!isHere()) return;
        setLoaded({ path, ...listing });
        setProblem(null);
      },
      (error: Error) => isHere() && setProblem(error.message),
    );
  }, [files, path]);
  useEffect(() => {
    place.current = path;
    load();
  }, [load, path]);

  // Actions use the shown path, and two folders may contain the same names. So entries of another folder are never
  // shown.
  const shown = loaded?.path === path ? loaded : null;
  const inside = (name: string) => (path === '' ? name : `${path}/${name}`);
  const entries = [...(shown?.entries ?? [])].sort(
    (a, b) => Number(b.kind === 'folder') - Number(a.kind === 'folder') || a.name.localeCompare(b.name),
  );
  return (
    <Dialog opened onClose={props.onClose} title={t('Files of this app')}>
      <div className={styles.actions}>
        <Button variant="filled" data-autofocus onClick={() => chooser.current?.click()}>
          {t('Send files')}
        </Button>
        {path !== '' && (
          <Button onClick={() => setPath(path.slice(0, Math.max(0, path.lastIndexOf('/'))))}>
            {t('Folder above')}
          </Button>
        )}
      </div>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label={t('Files to send')}
        onChange={(event) => {
          for (const file of event.currentTarget.files ?? []) files.send(file);
          props.onClose();
        }}
      />
      <p className={styles.hint}>
        {t(
          'Sent files appear in the folder Uploads; each can have at most {size}. You can also drop files on the picture.',
          { size: sizeLabel(props.maxFileMb * 1024 * 1024) },
        )}
      </p>
      <h3 className={styles.place}>{path === '' ? t('Home') : path}</h3>
      {problem !== null && <p role="alert">{problem}</p>}
      <p role="status" className={styles.hint}>
        {fetched !== null &&
          t('{file} is being downloaded. Its progress is on the picture.', { file: fetched })}
      </p>
      {shown !== null && entries.length === 0 && (
        <p className={styles.hint}>{t('Nothing is in this folder.')}</p>
      )}
      <ul className={styles.files}>
        {entries.map((entry) => (
          <li key={entry.name} className={styles.file}>
            {entry.kind === 'folder' ? <IconFolder size={18} /> : <IconFile size={18} />}
            {entry.kind === 'folder' ? (
              <button type="button" className={styles.folder} onClick={() => setPath(inside(entry.name))}>
                {entry.name}
              </button>
            ) : (
              <span className={styles.title}>{entry.name}</span>
            )}
            <small>{entry.kind === 'file' ? sizeLabel(entry.size) : ''}</small>
            {entry.kind === 'file' && (
              <Button
                size="xs"
                aria-label={t('Download {file}', { file: entry.name })}
                onClick={() => {
                  files.fetch(inside(entry.name), entry.size);
                  setFetched(entry.name);
                }}
              >
                <IconDownload size={16} />
              </Button>
            )}
            {entry.kind !== 'other' && (
              <Button
                size="xs"
                aria-label={
                  asked === entry.name
                    ? t('Delete {file} permanently', { file: entry.name })
                    : t('Delete {file}', { file: entry.name })
                }
                {...(asked === entry.name ? { color: 'danger', variant: 'filled' } : {})}
                onClick={() => {
                  if (asked !== entry.name) {
                    setAsked(entry.name);
                    return;
                  }
                  files.delete(inside(entry.name)).then(load, (error: Error) => setProblem(error.message));
                }}
              >
                {asked === entry.name ? t('Delete') : <IconTrash size={16} />}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {shown?.truncated && <p className={styles.hint}>{t('There is more here than can be shown.')}</p>}
    </Dialog>
  );
}
