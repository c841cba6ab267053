import { initialise } from './init.ts';
import { native, readPointer, takeString } from './native.ts';

/** Offset of `next` in GList; `data` precedes it. */
const LIST_NEXT = 8;

/** Names of all element factories in this host's registry, sorted. */
export function listElements(): string[] {
  initialise();
  const lib = native();
  const list = lib.gst_registry_get_feature_list(lib.gst_registry_get(), lib.gst_element_factory_get_type());
  const names: string[] = [];
  try {
    for (let node = list; node; node = readPointer(node, LIST_NEXT)) {
      const feature = readPointer(node, 0);
      const name = feature ? takeString(lib.gst_object_get_name(feature)) : null;
      if (name) names.push(name);
    }
  } finally {
    lib.gst_plugin_feature_list_free(list);
  }
  return names.sort();
}

/** Whether the registry contains an element. The element may still not work. */
export function hasElement(name: string): boolean {
  initialise();
  const factory = native().gst_element_factory_find(name);
  if (!factory) return false;
  native().gst_object_unref(factory);
  return true;
}

/** Whether a plugin is installed, even if none of its elements can be used. */
export function hasPlugin(name: string): boolean {
  initialise();
  const plugin = native().gst_registry_find_plugin(native().gst_registry_get(), name);
  if (!plugin) return false;
  native().gst_object_unref(plugin);
  return true;
}
