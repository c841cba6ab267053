import type { FileEntry } from '@footlight/protocol/files';
import { Button } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { plural, t } from '../../i18n/translate.ts';
import { type FileTransfers, sizeLabel } from '../files/file-transfers.ts';
import styles from './dialogs.module.css';
import { type FileActions, FileRow } from './file-row.tsx';
import { NameDialog } from './name-dialog.tsx';

const NOTHING: ReadonlySet<string> = new Set();
/** Files of programs, such as settings, which the app's owner rarely needs. */
const isHidden = (name: string) => name.startsWith('.');

/** The home of the session's app: its files and folders with their actions, and a field to upload files. */
export default function FilesDialog(props: {
  onClose: () => void;
  files: FileTransfers;
  maxFileMb: number;
  /** whether the host can rename files and make folders */
  canRename: boolean;
}) {
  const { files, canRename } = props;
  const [path, setPath] = useState('');
  const [loaded, setLoaded] = useState<{ path: string; entries: FileEntry[]; truncated: boolean } | null>(
    null,
  );
  const [problem, setProblem] = useState<string | null>(null);
  const [asked, setAsked] = useState<string | null>(null);
  const chooser = useRef<HTMLInputElement>(null);
  /** what the last action did */
  const [said, setSaid] = useState<string | null>(null);
  /** names of selected entries; some may be gone */
  const [selected, setSelected] = useState(NOTHING);
  const [showsHidden, setShowsHidden] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const [deleting, setDeleting] = useState(false);
  /** entries that could not be deleted, each with the reason */
  const [kept, setKept] = useState<readonly (readonly [name: string, reason: string])[]>([]);
  /** the entry that gets another name; null: no entry */
  const [renamed, setRenamed] = useState<FileEntry | null>(null);
  const [addsFolder, setAddsFolder] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const list = useRef<HTMLUListElement>(null);
  /**
   * Set if the control with the focus disappears with the next listing. The name of the entry whose Rename button gets
   * the focus; "": the heading.
   */
  const focusNext = useRef<string | null>(null);
  const place = useRef(path);
  const load = useCallback(
    (focus: string | null = null) => {
      setAsked(null);
      // The person may have opened another folder during the deletion.
      const isHere = () => place.current === path;
      if (!isHere()) return;
      files.list(path).then(
        (listing) => {
          if (!isHere()) return;
          focusNext.current = focus;
          setLoaded({ path, ...listing });
          setProblem(null);
        },
        (error: Error) => isHere() && setProblem(error.message),
      );
    },
    [files, path],
  );
  useEffect(() => {
    place.current = path;
    load();
  }, [load, path]);
  useEffect(() => {
    const name = focusNext.current;
    if (loaded === null || name === null) return;
    focusNext.current = null;
    const buttons = list.current?.querySelectorAll<HTMLElement>('[data-renames]') ?? [];
    ([...buttons].find(({ dataset }) => dataset.renames === name) ?? heading.current)?.focus();
  }, [loaded]);

  // Actions use the shown path, and two folders may contain the same names. So entries of another folder are never
  // shown.
  const shown = loaded?.path === path ? loaded : null;
  const entries = useMemo(
    () =>
      (shown?.entries ?? [])
        .filter(({ name }) => showsHidden || !isHidden(name))
        .sort(
          (a, b) => Number(b.kind === 'folder') - Number(a.kind === 'folder') || a.name.localeCompare(b.name),
        ),
    [shown, showsHidden],
  );
  const hasHidden = shown?.entries.some(({ name }) => isHidden(name)) ?? false;
  const selectable = entries.filter(({ kind }) => kind !== 'other');
  const chosen = selectable.filter(({ name }) => selected.has(name));
  const chosenFiles = chosen.filter(({ kind }) => kind === 'file');

  const inside = useCallback((name: string) => (path === '' ? name : `${path}/${name}`), [path]);
  const open = useCallback((folder: string) => {
    setPath(folder);
    setSelected(NOTHING);
    setKept([]);
    setSaid(null);
  }, []);
  const actions = useMemo<FileActions>(
    () => ({
      choose: ({ name }, isChosen) =>
        setSelected((before) => {
          const next = new Set(before);
          if (isChosen) next.add(name);
          else next.delete(name);
          return next;
        }),
      open: ({ name }) => open(inside(name)),
      download: ({ name, size }) => {
        files.fetch(inside(name), size);
        setSaid(t('{file} is being downloaded. Its progress is on the picture.', { file: name }));
      },
      rename: setRenamed,
      remove: ({ name }, isAsked) => {
        if (!isAsked) {
          setAsked(name);
          return;
        }
        files.delete(inside(name)).then(
          () => load(''),
          (error: Error) => setProblem(error.message),
        );
      },
    }),
    [files, inside, load, open],
  );

  const downloadChosen = () => {
    for (const { name, size } of chosenFiles) files.fetch(inside(name), size);
    setSelected(NOTHING);
    setSaid(
      plural(
        chosenFiles.length,
        '{n} file is being downloaded. Its progress is on the picture.',
        '{n} files are being downloaded. Their progress is on the picture.',
      ),
    );
    // The button disappears with the selection.
    heading.current?.focus();
  };
  const deleteChosen = async () => {
    const names = chosen.map(({ name }) => name);
    setDeleting(true);
    setKept([]);
    const failed = await files.deleteAll(names.map(inside));
    setDeleting(false);
    setConfirming(false);
    const left = names.flatMap((name) => {
      const reason = failed.get(inside(name));
      return reason === undefined ? [] : [[name, reason] as const];
    });
    // Another folder may contain the same names.
    if (place.current === path) {
      const count = names.length - left.length;
      setKept(left);
      setSaid(count === 0 ? null : plural(count, '{n} item was deleted.', '{n} items were deleted.'));
      setSelected(new Set(left.map(([name]) => name)));
    }
    load('');
  };
  const rename = async (entry: FileEntry, name: string) => {
    await files.rename(inside(entry.name), name);
    setRenamed((current) => (current === entry ? null : current));
    load(name);
  };
  const addFolder = async (name: string) => {
    await files.makeFolder(path, name);
    setAddsFolder(false);
    load();
  };

  return (
    <>
      <Dialog opened onClose={props.onClose} title={t('Files of this app')}>
        <div className={styles.actions}>
          <Button variant="filled" data-autofocus onClick={() => chooser.current?.click()}>
            {t('Send files')}
          </Button>
          {canRename && <Button onClick={() => setAddsFolder(true)}>{t('New folder')}</Button>}
          {path !== '' && (
            <Button onClick={() => open(path.slice(0, Math.max(0, path.lastIndexOf('/'))))}>
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
        <h3 ref={heading} tabIndex={-1} className={styles.place}>
          {path === '' ? t('Your files') : path}
        </h3>
        {problem !== null && <p role="alert">{problem}</p>}
        {kept.length > 0 && (
          <div role="alert">
            <p>{plural(kept.length, '{n} item could not be deleted:', '{n} items could not be deleted:')}</p>
            <ul>
              {kept.map(([file, reason]) => (
                <li key={file} className={styles.kept}>
                  {t('{file}: {reason}', { file, reason })}
                </li>
              ))}
            </ul>
          </div>
        )}
        <p role="status" className={styles.hint}>
          {said}
        </p>
        {shown !== null && entries.length === 0 && (
          <p className={styles.hint}>
            {hasHidden ? t('Only hidden files are in this folder.') : t('Nothing is in this folder.')}
          </p>
        )}
        {hasHidden && (
          <label className={styles.check}>
            <input
              type="checkbox"
              checked={showsHidden}
              onChange={(event) => setShowsHidden(event.currentTarget.checked)}
            />
            {t('Show hidden files')}
          </label>
        )}
        {selectable.length > 0 && (
          <div className={styles.selection}>
            <label className={styles.check}>
              <input
                type="checkbox"
                ref={(box) => {
                  if (box !== null)
                    box.indeterminate = chosen.length > 0 && chosen.length < selectable.length;
                }}
                checked={chosen.length === selectable.length}
                onChange={(event) =>
                  setSelected(
                    event.currentTarget.checked ? new Set(selectable.map(({ name }) => name)) : NOTHING,
                  )
                }
              />
              {t('Select all')}
            </label>
            {chosenFiles.length > 0 && (
              <Button size="xs" onClick={downloadChosen}>
                {plural(chosenFiles.length, 'Download {n} file', 'Download {n} files')}
              </Button>
            )}
            {chosen.length > 0 && (
              <Button size="xs" color="danger" disabled={deleting} onClick={() => setConfirming(true)}>
                {plural(chosen.length, 'Delete {n} item', 'Delete {n} items')}
              </Button>
            )}
          </div>
        )}
        <ul ref={list} className={styles.files}>
          {entries.map((entry) => (
            <FileRow
              key={entry.name}
              entry={entry}
              chosen={selected.has(entry.name)}
              asked={asked === entry.name}
              canRename={canRename}
              actions={actions}
            />
          ))}
        </ul>
        {shown?.truncated && <p className={styles.hint}>{t('There is more here than can be shown.')}</p>}
      </Dialog>
      <ConfirmDialog
        opened={confirming}
        title={plural(chosen.length, 'Delete {n} item permanently?', 'Delete {n} items permanently?')}
        action={plural(chosen.length, 'Delete {n} item', 'Delete {n} items')}
        pending={deleting}
        error={null}
        onConfirm={() => void deleteChosen()}
        onClose={() => setConfirming(false)}
      >
        <p>{t('Deleted files cannot be restored. A folder is deleted only if it is empty.')}</p>
      </ConfirmDialog>
      {renamed !== null && (
        <NameDialog
          title={t('Rename {file}', { file: renamed.name })}
          action={t('Save name')}
          name={renamed.name}
          isFile={renamed.kind === 'file'}
          onName={(name) => rename(renamed, name)}
          onClose={() => setRenamed(null)}
        />
      )}
      {addsFolder && (
        <NameDialog
          title={t('New folder')}
          action={t('Make folder')}
          name=""
          onName={addFolder}
          onClose={() => setAddsFolder(false)}
        />
      )}
    </>
  );
}
