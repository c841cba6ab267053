/** Label with the id of the agent that created a container, because several agents may share an engine. */
export const AGENT_LABEL = 'footlight.agent';
/** Prefix of container names, which an image cannot forge, unlike labels. */
export const CONTAINER_PREFIX = 'footlight-';

/** Names of homes that are volumes of the engine (docs/homes.md). */
const HOME_VOLUME = /^service-home-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a ref names the volume of a home: no other volume of the engine is ever used or removed. Pure. */
export function isHomeVolume(ref: string): boolean {
  return HOME_VOLUME.test(ref);
}

/**
 * Whether a path can be named in a mount. Podman's Docker API writes source and target of a mount into a list with
 * commas, so a comma would begin another option: `/x,source=/etc`.
 */
export function isMountable(path: string): boolean {
  return (
    path.startsWith('/') &&
    !/[,:"\\]/.test(path) &&
    [...path].every((each) => each >= ' ' && each !== '\u007f')
  );
}

/**
 * Whether a text can name an image. It is inserted unescaped into the path of an engine call, where `get?names=x`,
 * `json?all=1` or `../info` would turn it into another call. Pure. Source: the grammar of distribution/reference.
 */
export function isImageName(text: string): boolean {
  const [, name = ''] = /^(?:\[[0-9A-Fa-f:]+\](?::\d+)?\/)?([A-Za-z0-9][\w.:@/+-]*)$/.exec(text) ?? [];
  return name !== '' && name.split('/').every((part) => !['', '.', '..'].includes(part));
}
