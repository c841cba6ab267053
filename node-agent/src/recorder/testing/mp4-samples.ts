/** Reads fragmented MP4 for tests. Source: ISO/IEC 14496-12, 4.2 and 8.8. */

interface Box {
  type: string;
  /** Offset of the box in the file. */
  at: number;
  /** Content of the box, without its size and type. */
  body: Buffer;
}

function boxes(data: Buffer, base = 0): Box[] {
  const found: Box[] = [];
  for (let at = 0; at + 8 <= data.length; ) {
    const size = data.readUInt32BE(at);
    const end = size === 0 ? data.length : at + size;
    if (size !== 0 && (size < 8 || end > data.length))
      throw new Error(`a box of ${size} bytes at ${base + at}`);
    found.push({
      type: data.toString('latin1', at + 4, at + 8),
      at: base + at,
      body: data.subarray(at + 8, end),
    });
    at = end;
  }
  return found;
}

function child(parent: Buffer, ...path: string[]): Buffer {
  const [type, ...rest] = path;
  const found = boxes(parent).find((box) => box.type === type);
  if (found === undefined) throw new Error(`there is no ${type}`);
  return rest.length === 0 ? found.body : child(found.body, ...rest);
}

export interface Mp4Track {
  /** vide or soun. */
  handler: string;
  /** Type of the sample entry, for example avc3. */
  format: string;
  samples: Buffer[];
}

/** The tracks of a fragmented file, with their samples in order. */
export function readTracks(file: Buffer): Mp4Track[] {
  const top = boxes(file);
  const moov = child(file, 'moov');
  const tracks = new Map<number, Mp4Track>();
  for (const { body } of boxes(moov).filter(({ type }) => type === 'trak')) {
    const handler = child(body, 'mdia', 'hdlr').toString('latin1', 8, 12);
    const format = child(body, 'mdia', 'minf', 'stbl', 'stsd').toString('latin1', 12, 16);
    tracks.set(child(body, 'tkhd').readUInt32BE(12), { handler, format, samples: [] });
  }
  for (const { at, body } of top.filter(({ type }) => type === 'moof')) {
    for (const { body: traf } of boxes(body).filter(({ type }) => type === 'traf')) {
      const tfhd = child(traf, 'tfhd');
      const flags = tfhd.readUInt32BE(0) & 0xffffff;
      const track = tracks.get(tfhd.readUInt32BE(4));
      let next = 8;
      const base = flags & 1 ? Number(tfhd.readBigUInt64BE(next)) : at;
      next += flags & 1 ? 8 : 0;
      next += flags & 2 ? 4 : 0;
      next += flags & 8 ? 4 : 0;
      const defaultSize = flags & 0x10 ? tfhd.readUInt32BE(next) : 0;
      for (const { body: trun } of boxes(traf).filter(({ type }) => type === 'trun')) {
        const has = trun.readUInt32BE(0) & 0xffffff;
        const count = trun.readUInt32BE(4);
        let from = base + (has & 1 ? trun.readInt32BE(8) : 0);
        let entry = 8 + (has & 1 ? 4 : 0) + (has & 4 ? 4 : 0);
        for (let n = 0; n < count; n++) {
          entry += has & 0x100 ? 4 : 0;
          const size = has & 0x200 ? trun.readUInt32BE(entry) : defaultSize;
          entry += (has & 0x200 ? 4 : 0) + (has & 0x400 ? 4 : 0) + (has & 0x800 ? 4 : 0);
          track?.samples.push(file.subarray(from, from + size));
          from += size;
        }
      }
    }
  }
  return [...tracks.values()];
}

/** NAL units of a sample, each after a four-byte length. */
export function nalUnitsOf(sample: Buffer): Buffer[] {
  const units: Buffer[] = [];
  for (let at = 0; at + 4 <= sample.length; ) {
    const end = at + 4 + sample.readUInt32BE(at);
    units.push(sample.subarray(at + 4, end));
    at = end;
  }
  return units;
}
