import type { Session } from '@footlight/protocol/rest';
import { lazy, Suspense } from 'react';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { t } from '../../i18n/translate.ts';
import type { OwnKeyboard } from '../../keyboard/use-keyboard-layout.ts';
import type { BarPlace } from '../bar/bar-place.ts';
import type { SessionFiles } from '../files/use-files.ts';
import type { WindowFit } from '../fit/use-window-fit.ts';
import type { Touch } from '../touch/use-touch.ts';
import type { StreamView } from '../use-stream.ts';
import type { ShownApp } from './theatre.tsx';

// Loaded when a dialog opens, because few visits open one.
const FilesDialog = lazy(() => import('../dialogs/files-dialog.tsx'));
const KeyboardDialog = lazy(() => import('../dialogs/keyboard-dialog.tsx'));
const MoreDialog = lazy(() => import('../dialogs/more-dialog.tsx'));
const RelaunchDialog = lazy(() => import('../dialogs/relaunch-dialog.tsx'));
const ShareDialog = lazy(() => import('../guests/share-dialog.tsx'));
const SwapDialog = lazy(() => import('../dialogs/swap-dialog.tsx'));
const WindowsDialog = lazy(() => import('../dialogs/windows-dialog.tsx'));

/** The open dialog; null: no dialog is open. */
export type OpenDialog =
  | 'end'
  | 'keyboard'
  | 'swap'
  | 'quality'
  | 'windows'
  | 'more'
  | 'files'
  | 'touch'
  | 'share'
  | null;

/** The dialogs of a session, at most one of them open. */
export function TheatreDialogs(props: {
  dialog: OpenDialog;
  onDialog: (dialog: OpenDialog) => void;
  fit: WindowFit;
  app: ShownApp;
  session: Session | undefined;
  stream: StreamView;
  keyboard: OwnKeyboard;
  files: SessionFiles;
  touch: Touch;
  place: BarPlace;
  onPlace: (place: BarPlace) => void;
  ending: boolean;
  endError: unknown;
  onEnd: () => void;
  onRelaunch: (profileId: string | null) => void;
}) {
  const { dialog, onDialog, app, session, stream, keyboard, files, touch } = props;
  const onClose = () => onDialog(null);
  const { client } = stream;
  const { kit } = touch;
  return (
    <>
      <ConfirmDialog
        opened={dialog === 'end'}
        title={t('End {app}?', { app: app.name })}
        action={t('End {app}', { app: app.name })}
        pending={props.ending}
        error={props.endError}
        onConfirm={props.onEnd}
        onClose={onClose}
      >
        <p>
          {t(
            'This closes the app. Anything that it has not saved is lost. To keep it open, go back to the library instead.',
          )}
        </p>
      </ConfirmDialog>
      <Suspense fallback={null}>
        {dialog === 'swap' && session !== undefined && (
          <SwapDialog
            sessionId={session.id}
            appId={app.id}
            hasGuests={stream.guests.length > 0}
            onClose={onClose}
          />
        )}
        {dialog === 'quality' && session !== undefined && (
          <RelaunchDialog
            app={app}
            session={session}
            onRelaunch={(profileId) => {
              onClose();
              props.onRelaunch(profileId);
            }}
            onClose={onClose}
          />
        )}
        {dialog === 'keyboard' && (
          <KeyboardDialog
            onClose={onClose}
            inForce={stream.layout}
            detected={keyboard.detected}
            chosen={keyboard.chosen}
            onLayout={keyboard.choose}
            onText={(text) => client?.sendText(text)}
            onKeys={(codes) => client?.sendKeys(codes)}
          />
        )}
        {dialog === 'windows' && (
          <WindowsDialog onClose={onClose} windows={stream.windows} onUse={(id) => client?.setWindow(id)} />
        )}
        {dialog === 'files' && files.files !== null && (
          <FilesDialog
            onClose={onClose}
            files={files.files}
            maxFileMb={files.link?.maxFileMb ?? 0}
            canRename={files.link?.canRename ?? false}
          />
        )}
        {dialog === 'touch' && kit !== null && touch.choice !== null && (
          <kit.TouchDialog
            onClose={onClose}
            choice={touch.choice}
            maxPads={stream.input?.max_pads ?? 0}
            touchScreen={stream.input?.touch_screen ?? false}
            onChoice={touch.choose}
            onMove={() => {
              onClose();
              touch.setMoving(true);
            }}
          />
        )}
        {dialog === 'share' && session !== undefined && (
          <ShareDialog sessionId={session.id} watching={stream.guests} onClose={onClose} />
        )}
        {dialog === 'more' && (
          <MoreDialog
            onClose={onClose}
            sound={stream.audio?.available === true ? stream.audio : null}
            onVolume={(volume) => client?.setVolume(volume)}
            fit={props.fit}
            onSwap={() => onDialog('swap')}
            onQuality={() => onDialog('quality')}
            onShare={() => onDialog('share')}
            place={props.place}
            onPlace={props.onPlace}
          />
        )}
      </Suspense>
    </>
  );
}
