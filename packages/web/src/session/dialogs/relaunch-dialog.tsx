import type { AppListItem, Session } from '@footlight/protocol/rest';
import { t } from '../../i18n/translate.ts';
import QualityDialog from '../../launch/quality-dialog.tsx';

/** Ends the session and launches its app again with another quality, because a running session keeps its size and codec. */
export default function RelaunchDialog(props: {
  app: Pick<AppListItem, 'id' | 'name'> & Partial<Pick<AppListItem, 'profile_policy'>>;
  session: Pick<Session, 'profile_id' | 'stream'>;
  onRelaunch: (profileId: string | null) => void;
  onClose: () => void;
}) {
  return (
    <QualityDialog
      app={props.app}
      title={t('Relaunch with another quality')}
      action={t('End and relaunch {app}', { app: props.app.name })}
      current={props.session.profile_id}
      stream={props.session.stream}
      pending={false}
      error={null}
      onChoose={props.onRelaunch}
      onClose={props.onClose}
    >
      <p>{t('This closes the app and starts it again. Anything that it has not saved is lost.')}</p>
    </QualityDialog>
  );
}
