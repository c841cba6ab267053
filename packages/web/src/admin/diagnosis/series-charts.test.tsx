// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { diagnosis } from '../../../test/diagnosis-fixtures.ts';
import type { TraceEvent } from './event-labels.ts';
import { SeriesCharts } from './series-charts.tsx';

afterEach(cleanup);

const charts = (events: readonly TraceEvent[]) => (
  <MantineProvider>
    <SeriesCharts
      window={diagnosis.window}
      series={diagnosis.series}
      events={events}
      falsifiers={[]}
      cursorMs={diagnosis.window.to_ms}
      onCursor={() => undefined}
    />
  </MantineProvider>
);

test('events with the same time and type are drawn once each, also when the window moves', () => {
  const at = (ms: number): TraceEvent => ({
    source: 'browser',
    ts_unix_ms: diagnosis.window.from_ms + ms,
    type: 'client.freeze_detected',
    payload: {},
  });
  const { container, rerender } = render(charts([at(1), at(2), at(2), at(2), at(3)]));
  const marks = () => container.querySelectorAll('[data-tone]').length;
  expect(marks()).toBe(5);
  rerender(charts([at(2), at(2), at(2), at(3)]));
  expect(marks()).toBe(4);
  rerender(charts([at(3)]));
  expect(marks()).toBe(1);
});
