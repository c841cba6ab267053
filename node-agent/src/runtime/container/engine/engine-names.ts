/** Label with the agent that made a container: several agents may share an engine. */
export const AGENT_LABEL = 'footlight.agent';
/** Names of containers, which no label of an image can forge. */
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
 * Whether a text can name an image. It stands as it is in the path of a call of the engine, where `get?names=x`,
 * `json?all=1` or `../info` would make another call of it. Pure. Source: the grammar of distribution/reference.
 */
export function isImageName(text: string): boolean {
  const [, name = ''] = /^(?:\[[0-9A-Fa-f:]+\](?::\d+)?\/)?([A-Za-z0-9][\w.:@/+-]*)$/.exec(text) ?? [];
  return name !== '' && name.split('/').every((part) => !['', '.', '..'].includes(part));
}
