import { msg, t } from '../../i18n/translate.ts';
import { settingName } from '../fleet/settings-model.ts';

/** Fields of requests that the log names as changed, with the labels of their forms. */
const FIELDS: Readonly<Record<string, string>> = {
  // Apps and presets
  name: msg('Name'),
  display_name: msg('Name'),
  description: msg('Description'),
  kind: msg('Kind'),
  cover_url: msg('Cover picture'),
  enabled: msg('Switched on'),
  runtime_preset_id: msg('Preset'),
  runtime_spec: msg('Command'),
  image: msg('Container image'),
  args: msg('Arguments'),
  env: msg('Environment'),
  mounts: msg('Mounts'),
  network: msg('Network'),
  managed_home: msg('Keeps a home of its own for each person'),
  home_container_path: msg('Where the home appears inside the app'),
  home_base: msg('Base of the homes'),
  default_width: msg('Width'),
  default_height: msg('Height'),
  default_fps: msg('Frames per second'),
  default_bitrate_kbps: msg('Bitrate'),
  default_vram_mb: msg('GPU memory'),
  default_encode_slots: msg('Encode slots'),
  default_profile_id: msg('Launch profile'),
  launchable_profile_ids: msg('Launch profiles'),
  profile_policy: msg('Who chooses the launch profile'),
  parent_app_id: msg('Launcher'),
  library_provider: msg('Launcher'),
  // Rungs and launch profiles
  codec: msg('Codec'),
  width: msg('Width'),
  height: msg('Height'),
  fps: msg('Frames per second'),
  nominal_bitrate_kbps: msg('Bitrate'),
  h264_profile: msg('H.264 profile'),
  min_offer_bandwidth_kbps: msg('Not offered below'),
  recommended_offer_bandwidth_kbps: msg('Risky below'),
  abr_floor_kbps: msg('Adaptation floor'),
  headroom_factor: msg('Headroom'),
  max_startup_rtt_ms: msg('Longest round trip'),
  playout0_ms: msg('Playout delay'),
  min_decode_height: msg('Lines to decode'),
  high_refresh_display: msg('Display'),
  browser_client: msg('Browsers'),
  hardware_encoder_required: msg('Only on hosts with a hardware encoder'),
  visibility: msg('Who it is for'),
  sort_order: msg('Place in lists'),
  rungs: msg('Rungs'),
  global_default_profile_id: msg('Default of the instance'),
  user_overrides_allowed: msg('People may choose a launch profile of their own'),
  // The instance
  registration_mode: msg('Who may register'),
  storage_provider: msg('Where new homes are stored'),
  library_discovery_enabled: msg('Show the games that people installed in their homes as apps'),
  library_discovery_interval_minutes: msg('Time between two searches of a home'),
  library_discovery_appdetails_enabled: msg('Look up found games in the store'),
  mic_capture_enabled: msg(
    'Apps may hear the microphone of the person who uses them, when that person turns it on',
  ),
  guest_sharing_enabled: msg('People may share their running apps with guests'),
  image_update_policy: msg('When a newer image is published'),
  flight_recorder_enabled: msg('Record the last minute of new sessions'),
  allowed_origins: msg('Allowed origins'),
  // Jobs
  interval_secs: msg('Time between two runs'),
  window_start: msg('Only at certain times'),
  window_end: msg('Only at certain times'),
  window_days: msg('Only at certain times'),
  timezone: msg('Time zone'),
  history_limit: msg('Runs kept in the history'),
  // Consoles
  connector: msg('Connector'),
  output_id: msg('Display'),
  mode: msg('Display and mode'),
  compositor: msg('Drawn by'),
  stream: msg('Also stream it to the browser'),
  stream_audio: msg('Also stream its sound'),
  auto_start_on_display: msg('Start an app automatically whenever a display is connected'),
  default_app: msg('App that starts'),
  default_user: msg('Account that starts it'),
};

/** The label of a changed field, as in its form; a field of a newer service is shown in plain words. */
export function fieldLabel(field: string): string {
  if (Object.hasOwn(FIELDS, field)) return t(FIELDS[field] ?? field);
  return settingName(field) ?? field.replaceAll('_', ' ');
}
