/** A backup or restore that was not done; the message is for the person who asked for it. Nothing was changed. */
export class BackupRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BackupRefused';
  }
}
