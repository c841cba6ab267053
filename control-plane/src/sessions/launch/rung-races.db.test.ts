import { expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { beforeTransactionOf } from '../testing/before-transaction.ts';
import { useLaunchWorld } from '../testing/launch-world.ts';

describeDatabases('a rung that changes between the first read of a launch and its commit', (databases) => {
  const given = useLaunchWorld(databases);
  const { as, launch } = given;

  /** Runs an effect after the reads of the launch, immediately before its transaction. */
  const justBefore = (happening: () => Promise<unknown>, request: Record<string, unknown>) =>
    beforeTransactionOf(given.world.planes, () => launch(request), happening);

  test('a launch whose rung is gone reads again and takes a rung that exists', async () => {
    await given.catalog.rung('passing');
    await given.catalog.profile('passes', ['passing', 'alpha-h264']);
    const answer = await justBefore(
      async () => {
        await as(given.admin, 'PATCH', '/v1/admin/launch-profiles/passes', { rungs: ['alpha-h264'] });
        await given.world.call(given.admin, 'DELETE', '/v1/admin/stream-profiles/passing');
      },
      { profile_id: 'passes' },
    );
    expect(answer.body.session.stream_profile_id).toBe('alpha-h264');
  });

  test('a launch and the delete of its rung: one of them sees the other', async () => {
    for (let round = 0; round < 8; round += 1) {
      const id = `race-${round}`;
      await given.catalog.rung(id);
      await given.catalog.profile(id, [id]);
      const racer = await given.world.addPerson(`racer${round}`);
      const [launched] = await Promise.all([
        given.world.launch(racer, given.app, { profile_id: id }),
        as(given.admin, 'PATCH', `/v1/admin/launch-profiles/${id}`, { rungs: ['alpha-h264'] }).then(() =>
          given.world.call(given.admin, 'DELETE', `/v1/admin/stream-profiles/${id}`),
        ),
      ]);
      expect(launched.status).toBe(201);
      const recorded = launched.body.session.stream_profile_id as string;
      const rungs = await as(given.admin, 'GET', '/v1/admin/stream-profiles');
      expect(rungs.items.map((one: { id: string }) => one.id)).toContain(recorded);
    }
  });
});
