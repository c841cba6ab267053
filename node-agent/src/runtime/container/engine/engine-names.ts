/** Label with the id of the agent that created a container, because several agents may use one engine. */
export const AGENT_LABEL = 'footlight.agent';
/** Prefix of container names. Unlike a label, an image cannot set a container's name. */
export const CONTAINER_PREFIX = 'footlight-';

/** Names of homes that are volumes of the engine (docs/homes.md). */
const HOME_VOLUME = /^service-home-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a ref is the name of a home's volume. Other volumes of the engine are never used or removed. Pure. */
export function isHomeVolume(ref: string): boolean {
  return HOME_VOLUME.test(ref);
}

/**
 * Whether a path can be used in a mount. Podman's Docker API writes source and target of a mount into a list with
 * commas, so a comma in a path would begin another option, as in `/x,source=/etc`.
 */
export function isMountable(path: string): boolean {
  return (
    path.startsWith('/') &&
    !/[,:"\\]/.test(path) &&
    [...path].every((each) => each >= ' ' && each !== '\u007f')
  );
}

/**
 * Whether a text can be an image name. It is inserted unescaped into the path of an engine call, where a text such as
 * `get?names=x`, `json?all=1` or `../info` would cause another call. Pure. Source: the grammar of
 * distribution/reference.
 */
export function isImageName(text: string): boolean {
  const [, name = ''] = /^(?:\[[0-9A-Fa-f:]+\](?::\d+)?\/)?([A-Za-z0-9][\w.:@/+-]*)$/.exec(text) ?? [];
  return name !== '' && name.split('/').every((part) => !['', '.', '..'].includes(part));
}
