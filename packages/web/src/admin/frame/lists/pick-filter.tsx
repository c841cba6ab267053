import { ActionIcon, Button } from '@mantine/core';
import { IconSelector, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../../../i18n/translate.ts';
import styles from '../admin-pages.module.css';
import { adminKeys } from '../admin-query-keys.ts';
import { type Pick, PickDialog } from './pick-dialog.tsx';

/**
 * A filter by one item of a long list, such as a person. The id of the item is in the URL.
 * @param props.words kind of the item: "Person"
 * @param props.all text while no item is picked: "Everybody"
 * @param props.nameOf returns the name of an id from the URL
 */
export function PickFilter(props: {
  label: string;
  all: string;
  kind: string;
  id: string | undefined;
  find: (text: string, signal: AbortSignal) => Promise<Pick[]>;
  nameOf: (id: string, signal: AbortSignal) => Promise<string>;
  onPick: (id: string | undefined) => void;
}) {
  const { label, id } = props;
  const [picking, setPicking] = useState(false);
  const name = useQuery({
    queryKey: adminKeys.pickedName(props.kind, id ?? ''),
    queryFn: ({ signal }) => props.nameOf(id ?? '', signal),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const shown = id === undefined ? props.all : (name.data ?? (name.isError ? t('Deleted') : '…'));
  return (
    <span className={styles.pickFilter}>
      <Button rightSection={<IconSelector size={16} />} onClick={() => setPicking(true)}>
        <span className={styles.dim}>{label}:</span>&nbsp;
        <span className={styles.pickFilterName}>{shown}</span>
      </Button>
      {id !== undefined && (
        <ActionIcon size={36} aria-label={`${label}: ${props.all}`} onClick={() => props.onPick(undefined)}>
          <IconX size={18} />
        </ActionIcon>
      )}
      <PickDialog
        opened={picking}
        title={label}
        label={t('Find by name')}
        kind={props.kind}
        action={t('Show')}
        find={props.find}
        taken={new Set(id === undefined ? [] : [id])}
        pending={undefined}
        error={null}
        onPick={(picked) => {
          setPicking(false);
          props.onPick(picked);
        }}
        onClose={() => setPicking(false)}
      />
    </span>
  );
}
