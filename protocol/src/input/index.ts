/** The data channels between viewer and agent: binary input and timing messages, JSON control messages, the key table. */
export * from './channels.ts';
export * from './control.ts';
export * from './decode.ts';
export * from './encode.ts';
export * from './key-codes.ts';
export * from './messages.ts';
