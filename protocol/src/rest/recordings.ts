import { z } from 'zod';
import { MAX_RECORDING_BYTES } from '../agent/recordings.ts';
import { uuid } from '../common.ts';
import { dateTime, idParams, madeId } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';

const recording = z
  .object({
    recording_id: madeId.describe('Id of the recording.'),
    session_id: madeId.describe('Id of the session.'),
    state: z
      .enum(['pending', 'ready', 'failed'])
      .describe(
        '`pending` while the host writes it, `ready` when it can be downloaded, `failed` when nothing was kept.',
      ),
    created_at: dateTime.describe('When it was asked for.'),
    expires_at: dateTime.describe('When it leaves this list. Its host deletes it 24 h after it was written.'),
    bytes: z.int().nullable().describe('Length of the file; null until it is ready.'),
    duration_ms: z
      .int()
      .nullable()
      .describe('Length of what it shows, milliseconds; null until it is ready.'),
    error: z.string().nullable().describe('Why nothing was kept; null unless it failed.'),
  })
  .meta({ id: 'Recording', description: 'The last minute of a session, as its host kept it.' });
export type Recording = z.output<typeof recording>;

const recordingParams = z.object({
  id: uuid.describe('Id of the session.'),
  recording_id: uuid.describe('Id of the recording.'),
});
const NO_SESSION = 'There is no such session.';
const RECORDING_ID = '6f0b1f0e-3a0c-4a53-9b5e-27f7c6f5d0a9';
const SILENT =
  'The host is not connected, does not answer in 5 s, or (of a download) sends nothing for 30 s.';
const params = { id: exampleIds.session };

export const recordingOperations = {
  'admin.sessions.recordings.freeze': operation({
    id: 'admin.sessions.recordings.freeze',
    method: 'POST',
    path: '/v1/admin/sessions/{id}/recordings',
    auth: 'admin',
    summary: 'Keep the last minute of a recorded session as a file on its host',
    description:
      'The session is one that was launched while `flight_recorder_enabled` was on, as `stream.recording` says. The file is written after this answer; the list tells when it is ready.',
    params: idParams,
    responses: {
      202: z.object({
        recording_id: madeId.describe('Id of the recording.'),
        session_id: madeId.describe('Id of the session.'),
        accepted_at: dateTime.describe('When the host took the order.'),
      }),
    },
    refusals: {
      not_found: NO_SESSION,
      session_not_running:
        'The session is neither running nor stopping, and did not fail within the last ten minutes; or its host holds nothing of it any more.',
      conflict:
        'The session is not recorded, one of its recordings is being written, or it has 32 of them already.',
      agent_not_connected: SILENT,
    },
    example: {
      params,
      response: {
        recording_id: RECORDING_ID,
        session_id: exampleIds.session,
        accepted_at: '2026-11-20T10:05:00.000Z',
      },
    },
  }),
  'admin.sessions.recordings.list': operation({
    id: 'admin.sessions.recordings.list',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/recordings',
    auth: 'admin',
    summary: 'Recordings of a session, newest first',
    description: 'Expired ones are left out.',
    params: idParams,
    responses: { 200: z.object({ items: z.array(recording).describe('Newest first.') }) },
    refusals: { not_found: NO_SESSION },
    example: {
      params,
      response: {
        items: [
          {
            recording_id: RECORDING_ID,
            session_id: exampleIds.session,
            state: 'ready',
            created_at: '2026-11-20T10:05:00.000Z',
            expires_at: '2026-11-21T10:05:00.000Z',
            bytes: 41_244_160,
            duration_ms: 59_483,
            error: null,
          },
        ],
      },
    },
  }),
  'admin.sessions.recordings.download': operation({
    id: 'admin.sessions.recordings.download',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/recordings/{recording_id}',
    auth: 'admin',
    summary: 'The file of a recording: fragmented MP4, as it was streamed',
    description:
      'Passed through from the host; this service keeps no copy. One download of a recording runs at a time, and one that stands still for 30 s ends.',
    params: recordingParams,
    responses: { 200: z.string() },
    contentType: 'video/mp4',
    headers: {
      'cache-control': 'Always `no-store`.',
      'content-disposition': 'Always `attachment`, with a name for the file.',
    },
    refusals: {
      not_found:
        'There is no such session or recording, it belongs to another session, it expired, or its host has it no more.',
      conflict: 'It is pending, it failed, or it is being downloaded.',
      agent_not_connected: SILENT,
      internal: 'Too many recordings are being downloaded (503).',
    },
    example: { params: { ...params, recording_id: RECORDING_ID } },
  }),
  'agent.recordings.upload': operation({
    id: 'agent.recordings.upload',
    method: 'PUT',
    path: '/v1/agent/recordings/{recording_id}',
    auth: 'node',
    summary: 'A host sends a recording that an administrator waits for',
    description:
      'Only after the command `session_recording` with `upload`. The body is passed on as it comes; the answer follows its last byte.',
    params: z.object({ recording_id: uuid.describe('Id of the recording.') }),
    upload: { mediaType: 'video/*', defaultMaxBytes: MAX_RECORDING_BYTES, isPassedOn: true },
    responses: { 204: null },
    refusals: {
      conflict: 'No download waits for it, or its client disconnected.',
    },
    example: { params: { recording_id: RECORDING_ID } },
  }),
} as const;
