import type { AccountsTables } from './tables/accounts.ts';
import type { ActivityTables } from './tables/activity.ts';
import type { ArtworkTables } from './tables/artwork.ts';
import type { CatalogTables } from './tables/catalog.ts';
import type { CertificationTables } from './tables/certification.ts';
import type { FleetTables } from './tables/fleet.ts';
import type { ImagesTables } from './tables/images.ts';
import type { JobsTables } from './tables/jobs.ts';
import type { LibraryTables } from './tables/library.ts';
import type { PlatformTables } from './tables/platform.ts';
import type { PreferencesTables } from './tables/preferences.ts';
import type { ProfilesTables } from './tables/profiles.ts';
import type { RecordingsTables } from './tables/recordings.ts';
import type { SecretsTables } from './tables/secrets.ts';
import type { SessionsTables } from './tables/sessions.ts';
import type { TelemetryTables } from './tables/telemetry.ts';
import type { WebhookTables } from './tables/webhook.ts';

/**
 * All tables. Booleans are stored as 0/1, times as epoch milliseconds, JSON as text, and ids as UUID text (codec.ts).
 */
export interface Schema
  extends PlatformTables,
    AccountsTables,
    ActivityTables,
    CatalogTables,
    CertificationTables,
    FleetTables,
    ImagesTables,
    SessionsTables,
    ArtworkTables,
    JobsTables,
    LibraryTables,
    PreferencesTables,
    ProfilesTables,
    RecordingsTables,
    SecretsTables,
    TelemetryTables,
    WebhookTables {}
