import { describe, expect, test } from 'vitest';
import { capsLabel, readPipeline } from './pipeline-graph.ts';

/** Written as by gst_debug_bin_to_dot_data of GStreamer 1.22: a source, and an encoder in a bin. */
const DOT = String.raw`digraph pipeline {
  rankdir=LR;
  label="<GstPipeline>\npipeline0\n[>]";
  node [style="filled,rounded", shape=box, fontsize="9"];
  edge [labelfontsize="6", fontsize="9"];

  legend [
    pos="0,0!",
    label="Legend\lElement-States: [~] void-pending\l",
  ];
  subgraph cluster_bin0_0x1 {
    fontsize="8";
    label="GstBin\nbin0\n[>]";
    subgraph cluster_bin0_0x1_sink {
      label="";
      style="invis";
      _proxypad0_0x9 [color=black, fillcolor="#ddddff", label="proxypad0\l[>][bfb]", height="0.2"];
    bin0_0x1_sink_0x2 [color=black, fillcolor="#ddddff", label="sink\n[>][bfb]", height="0.2"];
    }

    bin0_0x1_sink_0x2 -> _proxypad0_0x9 [style=dashed, minlen=0]
    fillcolor="#ffffff";
    subgraph cluster_enc_0x3 {
      label="GstOpenh264Enc\nencoder\n[=]";
      subgraph cluster_enc_0x3_sink {
        label="";
        enc_0x3_sink_0x4 [color=black, label="sink\n[>][bfb]"];
      }
      fillcolor="#aaffaa";
    }
    _proxypad0_0x9 -> enc_0x3_sink_0x4 [label="video/x-raw\l              format: I420\l               width: 1280\l              height: 720\l"]
  }
  subgraph cluster_src_0x5 {
    label="GstXImageSrc\nscreen\n[>]\nparent=(GstPipeline) \"pipeline0\"";
    subgraph cluster_src_0x5_src {
      label="";
      src_0x5_src_0x6 [color=black, label="src\n[>][bfb][T]"];
    }
  }
  src_0x5_src_0x6 -> bin0_0x1_sink_0x2 [labeldistance="10", label="    ", taillabel="ANY", headlabel="video/x-raw\l width: 1280\l"]
}
`;

describe('the graph of a pipeline', () => {
  test('has the elements with their states, connected through the pads of bins', () => {
    expect(readPipeline(DOT)).toEqual({
      elements: [
        { id: 'cluster_src_0x5', name: 'screen', type: 'GstXImageSrc', state: 'playing' },
        { id: 'cluster_enc_0x3', name: 'encoder', type: 'GstOpenh264Enc', state: 'paused' },
      ],
      links: [
        {
          from: 'cluster_src_0x5',
          to: 'cluster_enc_0x3',
          caps: ['video/x-raw', 'format: I420', 'width: 1280', 'height: 720'],
        },
      ],
    });
  });

  test('of plain names is a chain', () => {
    const graph = readPipeline('digraph pipeline {\n  source -> convert -> encoder;\n}\n');
    expect(graph?.links.map(({ from, to }) => `${from}>${to}`)).toEqual([
      'source>convert',
      'convert>encoder',
    ]);
  });

  test.each([
    ['nothing', ''],
    ['no link', 'digraph { a; b; }'],
    ['too many links', Array.from({ length: 400 }, (_none, n) => `a${n} -> b${n}`).join('\n')],
    ['one element', 'a -> a'],
    ['closing braces only', '}\n'.repeat(1_000)],
  ])('is none for a text with %s', (_name, text) => {
    expect(readPipeline(text)).toBeNull();
  });

  test('a circle ends', () => {
    expect(readPipeline('a -> b\nb -> c\nc -> a')?.links).toHaveLength(3);
  });
});

test.each([
  [['video/x-raw', 'format: I420', 'width: 1280', 'height: 720'], 'video/x-raw, I420, 1280 × 720'],
  [['application/x-rtp', 'encoding-name: H264'], 'application/x-rtp, H264'],
  [['video/x-raw(memory:DMABuf)'], 'video/x-raw'],
  [[], ''],
])('what flows: %j', (caps, label) => {
  expect(capsLabel(caps)).toBe(label);
});
