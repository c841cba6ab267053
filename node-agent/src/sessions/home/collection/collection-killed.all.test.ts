import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';
import type { DueHome, GcConfirm } from '@footlight/protocol/agent';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeHome, openHome } from '../home.ts';
import type { CollectOrder } from './testing/collect-process.ts';
import { ControlModel } from './testing/control-model.ts';

/** Path of the built program of testing/collect-process.ts, which is started for each step. */
const PROGRAM = resolve(import.meta.dirname, '../../../../dist/testing/collect-process.js');
const USER = process.getuid?.() === 0 ? { uid: 71_361, gid: 71_361, groups: [] } : null;

/**
 * Number of files in the home. The program that removes them is killed. The files are hard links to one file; ext4
 * allows 65,000 links.
 */
const FILES = 60_000;

let server: Server;
let control: ControlModel;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const answer =
      request.method === 'GET'
        ? await control.pending()
        : await control.confirm(((await json(request)) as GcConfirm).home_ids);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

interface Place {
  directory: string;
  stateDir: string;
  root: string;
}

function newPlace(): Place {
  const directory = mkdtempSync(join(tmpdir(), 'footlight-killed-'));
  const [stateDir, root] = [join(directory, 'state'), join(directory, 'homes')];
  mkdirSync(stateDir);
  mkdirSync(root);
  return { directory, stateDir, root };
}

function begin({ stateDir, root }: Place, order: Partial<CollectOrder>): ChildProcess {
  const controlUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const full: CollectOrder = { stateDir, root, controlUrl, killAt: 0, provision: null, ...order };
  return spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env.PATH, FOOTLIGHT_TEST: JSON.stringify(full) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Runs the program. @returns true: it finished; false: it killed itself */
async function runs(place: Place, order: Partial<CollectOrder>): Promise<boolean> {
  const child = begin(place, order);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`it ended with ${code ?? signal}`);
  return code === 0;
}

async function home({ root }: Place, name: string): Promise<DueHome> {
  const made: DueHome = { id: randomUUID(), provider: 'local', ref: join(root, name) };
  await openHome(root, made.ref, USER);
  writeFileSync(join(made.ref, 'save'), made.id);
  await closeHome(made.ref, USER);
  return made;
}

const trashOf = ({ id, ref }: DueHome) => join(dirname(ref), `.trash-${id}`);
const holds = (path: string, { id }: DueHome) =>
  existsSync(join(path, 'save')) && readFileSync(join(path, 'save'), 'utf8') === id;

describe('kill -9 at every step of a collection', () => {
  test('a live home is never deleted, and a confirmed one is gone after the next start', {
    timeout: 300_000,
  }, async () => {
    let killAt = 0;
    for (let ended = false; !ended; ) {
      killAt += 1;
      control = new ControlModel();
      const place = newPlace();
      const [due, revived, live] = [
        await home(place, 'alice-1/game-2'),
        await home(place, 'carol-3/game-2'),
        await home(place, 'bob-4/game-2'),
      ];
      control.add(due);
      control.add(revived);
      control.add(live, 'kept');
      // The home's owner launches an app during the collection, so the control plane keeps the home.
      control.beforeAnswer = (id) => {
        if (id === revived.id) control.set(id, 'kept');
      };
      ended = await runs(place, { killAt });
      const step = `killed at step ${killAt}`;
      expect(holds(live.ref, live), step).toBe(true);
      expect(holds(revived.ref, revived) !== holds(trashOf(revived), revived), step).toBe(true);
      if (control.stateOf(due.id) === 'due')
        expect(holds(due.ref, due) !== holds(trashOf(due), due), step).toBe(true);
      else expect(existsSync(due.ref), step).toBe(false);

      expect(await runs(place, {}), step).toBe(true);
      expect([holds(live.ref, live), holds(revived.ref, revived)], step).toEqual([true, true]);
      expect([existsSync(due.ref), existsSync(trashOf(due)), existsSync(trashOf(revived))], step).toEqual([
        false,
        false,
        false,
      ]);
      expect(control.stateOf(due.id), step).toBe('deleted');
      expect(readdirSync(join(place.stateDir, 'gc')), step).toEqual([]);
      expect(
        readdirSync(place.root).filter((name) => !name.startsWith('.')),
        step,
      ).toEqual(['bob-4', 'carol-3']);
      rmSync(place.directory, { recursive: true });
    }
    // A smaller number would mean that the test does not count the steps any more.
    expect(killAt).toBeGreaterThan(20);
  });

  test('in the middle of a removal: the remover ends too, and the next start removes the rest', async () => {
    control = new ControlModel();
    const place = newPlace();
    const due = await home(place, 'alice-1/game-2');
    const live = await home(place, 'bob-4/game-2');
    control.add(due);
    // Links are used, because they are created faster than files, but their removal takes as long. With only 20,000
    // links, all were removed before the kill on a busy machine.
    for (let number = 0; number < FILES; number++)
      linkSync(join(due.ref, 'save'), join(due.ref, String(number)));
    const child = begin(place, {});
    const left = () => (existsSync(trashOf(due)) ? readdirSync(trashOf(due)).length : null);
    // Only some names are checked, because reading the whole directory takes a tenth of the removal's time.
    const someNames = Array.from({ length: 200 }, (_, n) => join(trashOf(due), String(n * (FILES / 200))));
    await expect
      .poll(() => existsSync(trashOf(due)) && someNames.some((name) => !existsSync(name)), { interval: 1 })
      .toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(control.stateOf(due.id)).toBe('deleted');
    let before = -1;
    await expect
      .poll(
        () => {
          const now = left() ?? 0;
          const isStill = now === before;
          before = now;
          return isStill;
        },
        { interval: 200 },
      )
      .toBe(true);
    expect(before, 'the removal was over before the kill').toBeGreaterThan(0);
    expect(await runs(place, {})).toBe(true);
    expect([left(), readdirSync(join(place.stateDir, 'gc'))]).toEqual([null, []]);
    expect(holds(live.ref, live)).toBe(true);
    rmSync(place.directory, { recursive: true });
  });
});

test('kill -9 at every step of provisioning: the next launch gets the home with its files', {
  timeout: 300_000,
}, async () => {
  let killAt = 0;
  for (const isNew of [true, false]) {
    killAt = 0;
    for (let ended = false; !ended; ) {
      killAt += 1;
      const place = newPlace();
      const ref = join(place.root, 'alice-1/game-2');
      const other = await home(place, 'alice-1/other-3');
      const made = isNew ? null : await home(place, 'alice-1/game-2');
      // The next session has another uid, so the owner of the files must be changed.
      const user = USER && { uid: USER.uid + 1, gid: USER.gid + 1, groups: [] };
      ended = await runs(place, { killAt, provision: { ref, user } });
      const step = `killed at step ${killAt}`;
      await openHome(place.root, ref, user);
      if (made) expect(holds(ref, made), step).toBe(true);
      else expect(readdirSync(ref), step).toEqual([]);
      expect(holds(other.ref, other), step).toBe(true);
      await closeHome(ref, user);
      rmSync(place.directory, { recursive: true });
    }
    expect(killAt).toBeGreaterThan(isNew ? 3 : 1);
  }
});
