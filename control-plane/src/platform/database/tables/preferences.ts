/** Preferences of people. */
export interface PreferencesTables {
  user_preferences: UserPreferencesTable;
}

/** At most one row per user, created by the first change. */
export interface UserPreferencesTable {
  user_id: string;
  /** JSON object, the web app's settings document. */
  ui_preferences: string;
}
