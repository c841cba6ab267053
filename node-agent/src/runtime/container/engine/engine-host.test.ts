import { expect, test } from 'vitest';
import { ulimitsWithin } from './engine-host.ts';

const limits = (files: string, processes: string) =>
  [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    `Max processes             ${processes}                processes `,
    `Max open files            ${files}                files     `,
    '',
  ].join('\n');

test.each([
  [limits('1024 20000', '96365 96365'), 4_194_304, [1_024, 20_000], [96_365, 96_365]],
  // Podman lowers its own limit of processes to the kernel's maximum.
  [limits('1024 20000', '96365 96365'), 32_768, [1_024, 20_000], [32_768, 32_768]],
  [limits('unlimited unlimited', '100 unlimited'), 32_768, [-1, -1], [100, 32_768]],
])(
  'containers get the limits of this process, and at most the kernel’s number of processes',
  (text, pidMax, files, processes) => {
    expect(ulimitsWithin(text, pidMax)).toEqual([
      { Name: 'nofile', Soft: files[0], Hard: files[1] },
      { Name: 'nproc', Soft: processes[0], Hard: processes[1] },
    ]);
  },
);

test('a limit that is missing in the table stays the engine’s', () => {
  expect(ulimitsWithin('Max open files            1024 x files', 32_768)).toEqual([]);
});
