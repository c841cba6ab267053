import { Button } from '@mantine/core';
import { useState } from 'react';
import { CopyLine } from '../../components/copy-line.tsx';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';

/** Length of the key of AES-256. */
const KEY_BYTES = 32;

/**
 * Creates a master key in this browser. The page never sends the key to the server, because it protects the server's
 * database.
 */
export function MasterKey() {
  const [key, setKey] = useState<string | null>(null);
  return (
    <div className={styles.sheet}>
      <div className={styles.stack}>
        <p>
          {t(
            'No secret can be stored yet, because the server has no master key to encrypt it. Set the key only in the environment of the server.',
          )}
        </p>
        {key !== null && (
          <>
            <p>
              {t(
                'This key was made in this browser, is shown only now, and is not sent anywhere. Add this line to the environment of the control plane (as a service: /etc/footlight/control.env), and restart it:',
              )}
            </p>
            <CopyLine value={`SERVICE_SECRET_KEY=1:${key}`} label={t('line for the environment')} />
            <p>
              {t(
                'Do not store a copy with the backups of the database: both together reveal the secrets. Without the key, every secret has to be stored again.',
              )}
            </p>
          </>
        )}
        <div>
          <Button onClick={() => setKey(makeMasterKey())}>
            {key === null ? t('Make a master key') : t('Make another')}
          </Button>
        </div>
      </div>
    </div>
  );
}

/** 32 random bytes in standard base64, the form that SERVICE_SECRET_KEY requires. */
export function makeMasterKey(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(KEY_BYTES))));
}
