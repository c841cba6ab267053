/** Secrets at rest. */
export interface SecretsTables {
  secrets: SecretsTable;
}

export interface SecretsTable {
  /** One of the names that the service declares. */
  name: string;
  /** AES-256-GCM, base64: the encrypted value and behind it the 16 bytes of its tag. */
  ciphertext: string;
  /** Base64 of 12 bytes, new with every write. */
  nonce: string;
  /** Version of the master key that encrypted the value. */
  key_version: number;
  /** Last four characters of the value; "" for short ones. */
  hint: string;
  updated_by: string | null;
  updated_at: number;
}
