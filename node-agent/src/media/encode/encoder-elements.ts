import { realpathSync } from 'node:fs';
import { hasElement, type Pipeline } from '@footlight/gst';
import {
  type EncoderElement,
  type EncoderRow,
  type EncodeTarget,
  encodedCaps,
  propertyValues,
  rateProperties,
} from './encoders.ts';
import { PAYLOADING } from './payloading.ts';

/** The element of a row, with its name on this host. */
export interface ChosenElement {
  element: EncoderElement;
  name: string;
}

type Gpu = Pick<EncodeTarget, 'renderNode' | 'settings'>;

/**
 * Possible names of an element for one GPU. The GPU-specific name is first, because GStreamer gives the plain name to
 * the first GPU's element.
 */
export function elementNames({ name, named }: EncoderElement, { renderNode, settings }: Gpu): string[] {
  if (named === null) return [name];
  if (named.includes('{node}')) {
    return renderNode === null ? [name] : [named.replace('{node}', nodeName(renderNode)), name];
  }
  const device = settings.cuda_device;
  return device === 0 ? [name] : [named.replace('{device}', String(device))];
}

/** Device name of a render node: "renderD129" for "/dev/dri/by-path/pci-0000:03:00.0-render". */
function nodeName(renderNode: string): string {
  let path = renderNode;
  try {
    path = realpathSync(renderNode);
  } catch {
    // The render node does not exist, so its path is used; then no element with this name exists either.
  }
  return path.split('/').at(-1) ?? path;
}

/** The first element of a row that is installed on this host; null: none is installed. */
export function chooseElement({ elements }: EncoderRow, gpu: Gpu): ChosenElement | null {
  for (const element of elements) {
    const name = elementNames(element, gpu).find(hasElement);
    if (name !== undefined) return { element, name };
  }
  return null;
}

/**
 * Encoder, parser and payloader of a row in gst-launch syntax: from raw video in the row's format to the input of
 * `packetMaker`. The encoder is named `encoder`.
 */
export function encodeBranch(row: EncoderRow, { name }: ChosenElement, target: EncodeTarget): string {
  return [
    ...(row.upload === '' ? [] : [row.upload]),
    `${name} name=encoder`,
    encodedCaps(row, target.h264Profile),
    PAYLOADING[row.codec].branch,
  ].join(' ! ');
}

/** Properties of a row that an element did not accept. */
export interface UnsetProperties {
  /** Properties that this release lacks. */
  missing: string[];
  /** "name=value" of properties that the element did not accept. */
  refused: string[];
}

/**
 * Sets the row's properties on the element `encoder`. Properties that do not exist in this release are skipped, because
 * plugins differ between releases. The probe has tested the row without these properties.
 * @throws when the bitrate cannot be set, or the element belongs to another GPU
 */
export function configureEncoder(
  pipeline: Pipeline,
  { element, name }: ChosenElement,
  target: EncodeTarget,
): UnsetProperties {
  const encoder = pipeline.element('encoder');
  const unset: UnsetProperties = { missing: [], refused: [] };
  for (const { name: property, values } of propertyValues(element, target)) {
    if (!encoder.hasProperty(property)) {
      unset.missing.push(property);
      continue;
    }
    const kept = values.some((value) => {
      encoder.setProperty(property, value);
      return encoder.getProperty(property) === String(value);
    });
    if (!kept) unset.refused.push(`${property}=${values.join(' or ')}`);
  }
  if (!encoder.hasProperty(element.rate.property)) throw new Error(`${name} has no ${element.rate.property}`);
  writeRate(pipeline, element, target.bitrateKbps, target.fps);
  const path = encoder.hasProperty('device-path') ? encoder.getProperty('device-path') : null;
  if (path && target.renderNode !== null && nodeName(path) !== nodeName(target.renderNode)) {
    throw new Error(`${name} encodes on ${path}, not on ${target.renderNode}`);
  }
  return unset;
}

/** Sets a bitrate (kbit/s) and the properties that depend on it on the element `encoder`. */
export function writeRate(
  pipeline: Pipeline,
  element: EncoderElement,
  bitrateKbps: number,
  fps: number,
): void {
  const encoder = pipeline.element('encoder');
  for (const [property, value] of Object.entries(rateProperties(element, bitrateKbps, fps))) {
    if (encoder.hasProperty(property)) encoder.setProperty(property, value);
  }
}
