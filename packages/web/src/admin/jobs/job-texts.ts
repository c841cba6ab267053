import { msg, t } from '../../i18n/translate.ts';

/** Names and descriptions of the server's jobs (control-plane/src/jobs/code-jobs.ts). */
export const JOB_TEXTS = [
  msg('Expired sign-ins'),
  msg('Deletes sign-ins that expired.'),
  msg('Backup'),
  msg('Saves the database to a file, checks the file, and deletes the oldest backups.'),
  msg('Old measurements'),
  msg('Deletes samples and events of sessions that are too old.'),
  msg('Records of lost homes'),
  msg('Deletes records of homes whose host is gone.'),
  msg('Artwork search'),
  msg('Looks up pictures for apps that have none.'),
  msg('Artwork clean-up'),
  msg('Deletes pictures that no app uses.'),
  msg('Library discovery'),
  msg('Has hosts scan the homes of library apps for games.'),
  msg('Test accounts'),
  msg('Deletes accounts of automated checks that expired.'),
  msg('Encoder warm-up'),
  msg(
    'Starts and stops a media worker for each installed image, so that a first launch finds driver and caches warm.',
  ),
  msg('Deletion of homes'),
  msg('Deletes the files of homes that are marked for deletion, after a day.'),
  msg('Library provider'),
  msg('Installs the image of a library provider and creates its app, when discovery is switched on.'),
  msg('Image retry'),
  msg('Asks hosts again for installed images whose pull failed.'),
  msg('Images of a host'),
  msg('Compares the images of a host with the installed ones when its agent registers.'),
  msg('Start time limit'),
  msg('Ends sessions that do not start in time.'),
  msg('Certification cells'),
  msg('Gives up measurements of encoders that nobody finished.'),
  msg('Console start'),
  msg('Starts the app of a console again after it ended.'),
  msg('Library scanner'),
  msg('Scans homes for games when it is asked to.'),
  msg('Display watcher'),
  msg('Notices displays that are plugged in and out.'),
  msg('Image workers'),
  msg('Pull, build and remove images.'),
] as const;

/** A job with its name and description in the person's language; texts of a newer server stay as they are. */
export const translatedJob = <Job extends { name: string; description: string }>(job: Job): Job => ({
  ...job,
  name: t(job.name),
  description: t(job.description),
});
