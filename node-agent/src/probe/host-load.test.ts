import type { Clock } from '@footlight/platform';
import { expect, test } from 'vitest';
import { cpuTotals, HostLoadProbe, netTotals } from './host-load.ts';

const STAT = 'cpu  100 10 40 800 50 5 5 0 30 0\ncpu0 100 10 40 800 50 5 5 0 30 0\n';
const DEV = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 9999999    1    0    0    0     0          0         0  9999999    1    0    0    0     0       0          0
  eth0: 1000    2    0    0    0     0          0         0     5000    3    0    0    0     0       0          0
veth12: 777    2    0    0    0     0          0         0      777    3    0    0    0     0       0          0
wlan0:500 2    0    0    0     0          0         0      100    3    0    0    0     0       0          0
`;

test('times of the cores: waiting for a disk does not count as busy', () => {
  expect(cpuTotals(STAT)).toEqual({ busy: 160, all: 1_010 });
  expect(cpuTotals('')).toBeNull();
  expect(cpuTotals('intr 1 2 3 4\n')).toBeNull();
  expect(cpuTotals('cpu  a b c d\n')).toBeNull();
});

test('bytes of the physical interfaces', () => {
  expect(netTotals(DEV)).toEqual({ rx: 1_500, tx: 5_100 });
  expect(netTotals('')).toEqual({ rx: 0, tx: 0 });
});

test('rates are measured since the previous call, and the first call has none', () => {
  let nowMs = 0;
  const files: Record<string, string> = { '/proc/stat': STAT, '/proc/net/dev': DEV };
  const read = (path: string) => {
    const text = files[path];
    if (text === undefined) throw new Error('ENOENT');
    return text;
  };
  const probe = new HostLoadProbe({ monotonicMs: () => nowMs } as Clock, read);
  expect(probe.look()).toEqual({});
  nowMs = 5_000;
  files['/proc/stat'] = 'cpu  160 10 80 850 100 5 5 0 30 0\n';
  files['/proc/net/dev'] = DEV.replace('1000', '626000').replace('5000', '1255000');
  expect(probe.look()).toEqual({ cpu_busy: 0.5, net: { rx_kbps: 1_000, tx_kbps: 2_000 } });
  // The sums decrease when an interface is removed; an unreadable file gives no values.
  nowMs = 10_000;
  delete files['/proc/stat'];
  files['/proc/net/dev'] = '';
  expect(probe.look()).toEqual({ net: { rx_kbps: 0, tx_kbps: 0 } });
});
