// Checks before the start whether the ports are free. For each port that is not, finds the program that uses it.
import { spawnSync } from 'node:child_process';
import net from 'node:net';

/**
 * @typedef {object} WantedPort
 * @property {number} port
 * @property {string} what
 * @property {string | null} variable the environment variable that sets another port; null: there is none
 * @property {string} [host]
 */

/** @param {WantedPort} wanted @returns {Promise<boolean>} */
function isFree(wanted) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port: wanted.port, host: wanted.host, exclusive: true }, () =>
      server.close(() => resolve(true)),
    );
  });
}

/**
 * The program that listens on a port, from `ss`; null: `ss` does not show the program.
 * @param {number} port
 */
function holderOf(port) {
  const answer = spawnSync('ss', ['-ltnpH', `sport = :${port}`], { encoding: 'utf8' });
  const match = /users:\(\("([^"]+)",pid=(\d+)/.exec(answer.stdout ?? '');
  return match ? `${match[1]}, process ${match[2]}` : null;
}

/**
 * @param {WantedPort[]} wanted
 * @returns {Promise<string[]>} one sentence for each port that is taken
 */
export async function takenPorts(wanted) {
  const sentences = [];
  for (const port of wanted) {
    if (await isFree(port)) continue;
    const holder = holderOf(port.port);
    const taken = `Port ${port.port} (${port.what}) is taken${holder ? ` by ${holder}` : ''}. Stop that program`;
    sentences.push(
      port.variable === null ? `${taken}.` : `${taken}, or choose another with ${port.variable}.`,
    );
  }
  return sentences;
}
