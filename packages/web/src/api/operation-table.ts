import { addressesOf } from './operation-address.ts';

/**
 * Operations outside the administration. The build replaces this module by its result, so that the schemas are not
 * sent to the browser.
 */
export const operationTable = addressesOf('user area');
