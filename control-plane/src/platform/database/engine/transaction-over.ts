/** A statement was sent after the end of its transaction. */
export class TransactionOver extends Error {
  constructor() {
    super('the transaction of this statement is over');
  }
}
