/** Secrets at rest. */
export interface SecretsTables {
  secrets: SecretsTable;
}

export interface SecretsTable {
  /** One of the known secret names. */
  name: string;
  /** AES-256-GCM, base64: the encrypted value followed by its 16-byte tag. */
  ciphertext: string;
  /** Base64 of 12 bytes, new for every write. */
  nonce: string;
  /** Version of the encrypting master key. */
  key_version: number;
  /** Last four characters of the value; "" for short ones. */
  hint: string;
  updated_by: string | null;
  updated_at: number;
}
