import type { FilesLink, StreamClient } from '@footlight/stream-client';
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { clock } from '../../clock.ts';
import type { FileTransfers, TransferView } from './file-transfers.ts';

/**
 * Time for which a finished transfer is shown, so that people can read the file's location. A failed transfer stays
 * until the person hides it.
 */
const READ_MS = 8_000;

/** The files of the session's app, for the session page. */
export interface SessionFiles {
  /** null: this host or session has no file transfer */
  link: FilesLink | null;
  transfers: readonly TransferView[];
  /** the transfers; null before their first use */
  files: FileTransfers | null;
  /** Loads the code of transfers. */
  open: () => Promise<FileTransfers | null>;
  /** whether the person drags a file over the picture */
  dragged: boolean;
}

/**
 * Files of a session, which the person drops on the picture or chooses in the dialog. The code of transfers is loaded
 * at the first use. A new connection ends the transfers of the previous connection.
 */
export function useFiles(client: StreamClient | null, theatre: RefObject<HTMLElement | null>): SessionFiles {
  const [link, setLink] = useState<FilesLink | null>(null);
  const [files, setFiles] = useState<FileTransfers | null>(null);
  const [transfers, setTransfers] = useState<readonly TransferView[]>([]);
  const [dragged, setDragged] = useState(false);
  const opened = useRef<{ link: FilesLink; files: Promise<FileTransfers> } | null>(null);

  useEffect(() => client?.on('files', setLink), [client]);
  useEffect(() => {
    if (link === null) return;
    return () => {
      void opened.current?.files.then((each) => each.dispose());
      opened.current = null;
      setFiles(null);
    };
  }, [link]);

  const isOver = transfers.length > 0 && transfers.every(({ state }) => state === 'done');
  useEffect(() => {
    if (!isOver || files === null) return;
    const timer = clock.setTimeout(() => files.clear(), READ_MS);
    return () => timer.cancel();
  }, [isOver, files]);

  const open = useCallback(async () => {
    if (link === null) return null;
    opened.current ??= {
      link,
      files: import('./file-transfers.ts').then(({ FileTransfers }) => new FileTransfers(link, setTransfers)),
    };
    const made = await opened.current.files;
    setFiles(made);
    return made;
  }, [link]);

  useEffect(() => {
    const element = theatre.current;
    if (element === null || link === null) return;
    const holdsFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setDragged(true);
    };
    const left = (event: DragEvent) => {
      if (event.relatedTarget === null || !element.contains(event.relatedTarget as Node)) setDragged(false);
    };
    const dropped = (event: DragEvent) => {
      setDragged(false);
      if (!holdsFiles(event)) return;
      event.preventDefault();
      const given = [...(event.dataTransfer?.files ?? [])];
      void open().then((to) => {
        for (const file of given) to?.send(file);
      });
    };
    element.addEventListener('dragover', over);
    element.addEventListener('dragleave', left);
    element.addEventListener('drop', dropped);
    return () => {
      element.removeEventListener('dragover', over);
      element.removeEventListener('dragleave', left);
      element.removeEventListener('drop', dropped);
    };
  }, [theatre, link, open]);
  return { link, transfers, files, open, dragged };
}
