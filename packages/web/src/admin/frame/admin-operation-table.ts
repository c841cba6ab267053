import { addressesOf } from '../../api/operation-address.ts';

/**
 * Operations of the administrators' area, which most people never load. The build replaces this module by its result.
 */
export const adminOperationTable = addressesOf('administration');
