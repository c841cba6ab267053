import { describe, expect, test } from 'vitest';
import { BLOCK_PORTS, boundPorts, freeBlock, type HostUdpPorts, UdpPorts } from './udp-ports.ts';

const quiet: HostUdpPorts = { ephemeral: [32_768, 60_999], bound: new Set() };
const ports = (avoided: readonly [number, number] | null, host = quiet) =>
  new UdpPorts(avoided, () => Promise.resolve(host));

describe('blocks of UDP ports for apps', () => {
  test('simultaneous apps share no port, and a released block is used again', async () => {
    const pool = ports(null);
    const first = await pool.take();
    const second = await pool.take();
    expect(first.range).toEqual([65_024, 65_535]);
    expect(second.range).toEqual([64_512, 65_023]);
    first.release();
    expect((await pool.take()).range).toEqual(first.range);
  });

  test.each([
    ['a port with a socket', { ...quiet, bound: new Set([65_100]) }, null, 64_512],
    ['the ports of media workers', quiet, [64_000, 65_030], 63_488],
    ['the ephemeral ports', { ...quiet, ephemeral: [20_000, 65_535] }, null, 19_456],
  ] as const)('%s: another block', async (_what, host, avoided, low) => {
    expect((await ports(avoided, host).take()).range).toEqual([low, low + BLOCK_PORTS - 1]);
  });

  test('a block of ephemeral ports, if all others are taken', () => {
    expect(freeBlock({ ephemeral: [1_024, 65_535], bound: new Set() }, [])).toBe(65_024);
  });

  test('the block with the fewest sockets, if every block contains one', () => {
    const bound = new Set(Array.from({ length: 256 }, (_, index) => (index * BLOCK_PORTS) / 2));
    bound.delete(20_480 + BLOCK_PORTS / 2);
    expect(freeBlock({ ...quiet, bound }, [])).toBe(20_480);
  });

  test('when none is free, the app gets none', async () => {
    const all = new Set(Array.from({ length: 65_536 }, (_, port) => port));
    await expect(ports(null, { ...quiet, bound: all }).take()).rejects.toThrow('no block of 512 UDP ports');
  });

  test('ports with a socket are read from the table of the kernel', () => {
    const table = [
      '   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '  184: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 1 2 0 0',
      ' 9841: 00000000000000000000000000000000:FE01 00000000000000000000000000000000:0000 07 0 0 0',
    ];
    expect(boundPorts(table.join('\n'))).toEqual([53, 65_025]);
  });
});
