import { z } from 'zod';
import { bitrateKbps, codec, frameRate, h264Profile, pictureSide, uuid } from '../common.ts';
import { string } from './atoms.ts';

/** Members of a launch that change the stream. A codec alone does not change it. */
const streamRequest = z
  .strictObject({
    width: pictureSide.optional().describe('Width in pixels; left out: as the app or profile has it.'),
    height: pictureSide.optional().describe('Height in pixels; left out: as the app or profile has it.'),
    fps: frameRate.optional().describe('Frames a second; left out: as the app or profile has it.'),
    bitrate_kbps: bitrateKbps
      .optional()
      .describe('Video rate in kbit/s; left out: as the app or profile has it.'),
    h264_profile: h264Profile.optional().describe('H.264 profile; left out: the safest.'),
    codec: codec.optional().describe('Video codec; left out: the best that host and client both know.'),
  })
  .meta({
    id: 'StreamRequest',
    description:
      'What a launch asks of the stream. People who are no administrators can lower the figures, not raise them.',
  });

/** Fields that a launch and its preview have in common. */
export const launchFields = {
  app_id: uuid.describe('Id of the app to launch.'),
  profile_id: string().optional().describe('Id of the launch profile; left out: chosen for the caller.'),
  client_type: string()
    .optional()
    .describe('`native` for a client that is no browser; anything else counts as a browser.'),
  mic: z
    .boolean()
    .default(false)
    .describe('Pass the microphone to the app; granted where the instance allows it, never an error.'),
  stream: streamRequest.optional().describe('Wishes for the stream; left out: none.'),
};
