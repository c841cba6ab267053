import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Behaviour of the fake X server at the display's socket. It never answers a client. */
export type PlayedSocket = 'listens' | 'binds only' | 'has a child listen' | 'nothing';

/** Output of the fake X server after SIGUSR1, before it exits. */
export const LAST_WORDS = 'no screens found';

const SCRIPT = `#!/usr/bin/env python3
import os, signal, socket, sys
number, does = sys.argv[1][1:], sys.argv[-1]

def die(*_):
  print("${LAST_WORDS}", file=sys.stderr, flush=True)
  os._exit(1)

signal.signal(signal.SIGUSR1, die)
reading, writing = os.pipe()
s = socket.socket(socket.AF_UNIX)
if does != "nothing": s.bind("/tmp/.X11-unix/X" + number)
if does == "listens": s.listen(100)
if does == "has a child listen" and os.fork() == 0:
  s.listen(100)
  os.close(writing)
  os.read(reading, 1)
  os._exit(0)
with open(os.environ["HOME"] + "/number", "w") as file: file.write(number)
while True: signal.pause()
`;

/**
 * Writes a program that accepts the command line of an X server. After its start the program writes the display number
 * into the file `number` of its home.
 */
export function playedXServer(directory: string): string {
  const path = join(directory, 'played-x-server');
  writeFileSync(path, SCRIPT);
  chmodSync(path, 0o755);
  return path;
}
