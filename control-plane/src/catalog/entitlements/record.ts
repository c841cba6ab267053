import type { Entitlement } from '@footlight/protocol/rest';
import { instant } from '../../platform/database/index.ts';
import type { EntitlementRow } from './store.ts';

export function toEntitlement(row: EntitlementRow): Entitlement {
  return {
    id: row.id,
    subject_type: row.subject_type,
    subject_id: row.subject_id,
    subject_username: row.subject_username,
    app_id: row.app_id,
    app_name: row.app_name,
    granted_by: row.granted_by,
    granted_by_user: row.granted_by_user,
    source_ref: row.source_ref,
    created_at: instant(row.created_at),
  };
}
