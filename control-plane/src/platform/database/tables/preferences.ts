/** What people set for themselves. */
export interface PreferencesTables {
  user_preferences: UserPreferencesTable;
}

/** At most one row per user; none until the first change. */
export interface UserPreferencesTable {
  user_id: string;
  /** JSON object, the document of the web client's settings. */
  ui_preferences: string;
}
