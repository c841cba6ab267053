import { addressesOf } from './operation-address.ts';

/**
 * Operations outside the administrators' area. The build replaces this module by its result, so that the browser does
 * not load the schemas.
 */
export const operationTable = addressesOf('user area');
