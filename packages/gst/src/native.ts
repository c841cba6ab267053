/**
 * The C functions of this package. Every pointer is a BigInt address; 0 and null mean NULL.
 *
 * JavaScript callbacks are never passed, because GStreamer would call them on a streaming thread, and the pipeline
 * would stop until the event loop runs them. SignalListener and sinceSignal() pass C functions.
 */

import koffi, { type KoffiFunc } from 'koffi';

export type Pointer = bigint;

/** Value of GST_CLOCK_TIME_NONE. */
export const CLOCK_TIME_NONE = 0xffffffffffffffffn;

function loadLibraries() {
  enlargeStacks();
  return {
    libc: koffi.load('libc.so.6'),
    glib: koffi.load('libglib-2.0.so.0'),
    gobject: koffi.load('libgobject-2.0.so.0'),
    gst: koffi.load('libgstreamer-1.0.so.0'),
    check: koffi.load('libgstcheck-1.0.so.0'),
    app: koffi.load('libgstapp-1.0.so.0'),
    video: koffi.load('libgstvideo-1.0.so.0'),
  };
}

function enlargeStacks(): void {
  try {
    // Larger than the default stack of 128 KiB, which is too small for pool threads that load plugins during state
    // changes.
    koffi.config({ async_stack_size: 1024 * 1024 });
  } catch {
    // Ignored: another module has already loaded a library, so the setting cannot be changed. Only a process with
    // pipelines needs the larger stack.
  }
}

const gError = koffi.struct('GError', { domain: 'uint32_t', code: 'int', message: 'char *' });

function bind() {
  const { libc, glib, gobject, gst, check, app, video } = loadLibraries();
  return {
    eventfd: libc.func('int eventfd(uint count, int flags)') as (count: number, flags: number) => number,
    eventfd_read: libc.func('int eventfd_read(int fd, void *count)') as (fd: number, count: Buffer) => number,
    /** Address of the C function int eventfd_write(int fd, uint64_t count). */
    eventfd_write: libc.symbol('eventfd_write') as Pointer,
    close: libc.func('int close(int fd)') as (fd: number) => number,

    g_free: glib.func('void g_free(void *mem)') as (mem: Pointer | null) => void,
    g_timer_new: glib.func('void *g_timer_new()') as () => Pointer,
    /** Address of the C function void g_timer_start(GTimer *timer). */
    g_timer_start: glib.symbol('g_timer_start') as Pointer,
    g_timer_elapsed: glib.func('double g_timer_elapsed(void *timer, void *microseconds)') as (
      timer: Pointer,
      microseconds: null,
    ) => number,
    g_timer_destroy: glib.func('void g_timer_destroy(void *timer)') as (timer: Pointer) => void,
    g_error_free: glib.func('void g_error_free(void *error)') as (error: Pointer) => void,
    g_object_class_find_property: gobject.func(
      'void *g_object_class_find_property(void *klass, const char *name)',
    ) as (klass: Pointer, name: string) => Pointer | null,
    g_object_new_with_properties: gobject.func(
      'void *g_object_new_with_properties(size_t type, uint count, void *names, void *values)',
    ) as (type: number | bigint, count: 0, names: null, values: null) => Pointer,
    g_object_get_property: gobject.func(
      'void g_object_get_property(void *object, const char *name, void *value)',
    ) as (object: Pointer, name: string, value: Buffer) => void,
    g_signal_connect_data: gobject.func(
      'ulong g_signal_connect_data(void *object, const char *signal, void *handler, void *data, void *destroy, int flags)',
    ) as (
      object: Pointer,
      signal: string,
      handler: Pointer,
      data: Pointer,
      destroy: null,
      flags: number,
    ) => number | bigint,
    g_signal_handler_disconnect: gobject.func(
      'void g_signal_handler_disconnect(void *object, ulong handler)',
    ) as (object: Pointer, handler: number | bigint) => void,
    g_value_init: gobject.func('void *g_value_init(void *value, size_t type)') as (
      value: Buffer,
      type: number | bigint,
    ) => Pointer,
    g_value_unset: gobject.func('void g_value_unset(void *value)') as (value: Buffer) => void,

    gst_init: gst.func('void gst_init(void *argc, void *argv)') as (argc: null, argv: null) => void,
    gst_version: gst.func(
      'void gst_version(_Out_ uint *major, _Out_ uint *minor, _Out_ uint *micro, _Out_ uint *nano)',
    ) as (major: number[], minor: number[], micro: number[], nano: number[]) => void,
    gst_object_ref: gst.func('void *gst_object_ref(void *object)') as (object: Pointer) => Pointer,
    gst_object_ref_sink: gst.func('void *gst_object_ref_sink(void *object)') as (object: Pointer) => Pointer,
    gst_object_unref: gst.func('void gst_object_unref(void *object)') as (object: Pointer) => void,
    gst_object_get_name: gst.func('void *gst_object_get_name(void *object)') as (
      object: Pointer,
    ) => Pointer | null,
    gst_mini_object_unref: gst.func('void gst_mini_object_unref(void *object)') as (object: Pointer) => void,

    gst_parse_launch: gst.func('void *gst_parse_launch(const char *description, _Out_ void **error)') as (
      description: string,
      error: (Pointer | null)[],
    ) => Pointer | null,
    gst_bin_get_by_name: gst.func('void *gst_bin_get_by_name(void *bin, const char *name)') as (
      bin: Pointer,
      name: string,
    ) => Pointer | null,
    gst_debug_bin_to_dot_data: gst.func(
      'void *gst_debug_bin_to_dot_data(void *bin, int details)',
    ) as KoffiFunc<(bin: Pointer, details: number) => Pointer | null>,
    gst_element_set_state: gst.func('int gst_element_set_state(void *element, int state)') as KoffiFunc<
      (element: Pointer, state: number) => number
    >,
    gst_element_get_state: gst.func(
      'int gst_element_get_state(void *element, _Out_ int *state, _Out_ int *pending, uint64_t timeout)',
    ) as KoffiFunc<
      (element: Pointer, state: number[], pending: number[], timeout: number | bigint) => number
    >,
    gst_element_get_base_time: gst.func('uint64_t gst_element_get_base_time(void *element)') as (
      element: Pointer,
    ) => number | bigint,
    gst_element_get_static_pad: gst.func(
      'void *gst_element_get_static_pad(void *element, const char *name)',
    ) as (element: Pointer, name: string) => Pointer | null,
    gst_element_get_bus: gst.func('void *gst_element_get_bus(void *element)') as (
      element: Pointer,
    ) => Pointer | null,
    gst_element_get_factory: gst.func('void *gst_element_get_factory(void *element)') as (
      element: Pointer,
    ) => Pointer | null,
    gst_element_send_event: gst.func('bool gst_element_send_event(void *element, void *event)') as (
      element: Pointer,
      event: Pointer,
    ) => boolean,
    gst_pad_get_current_caps: gst.func('void *gst_pad_get_current_caps(void *pad)') as (
      pad: Pointer,
    ) => Pointer | null,
    gst_pad_query_caps: gst.func('void *gst_pad_query_caps(void *pad, void *filter)') as (
      pad: Pointer,
      filter: null,
    ) => Pointer | null,
    gst_caps_to_string: gst.func('void *gst_caps_to_string(void *caps)') as (caps: Pointer) => Pointer | null,
    gst_pipeline_use_clock: gst.func('void gst_pipeline_use_clock(void *pipeline, void *clock)') as (
      pipeline: Pointer,
      clock: Pointer,
    ) => void,
    gst_system_clock_obtain: gst.func('void *gst_system_clock_obtain()') as () => Pointer,
    gst_clock_id_unref: gst.func('void gst_clock_id_unref(void *id)') as (id: Pointer) => void,
    gst_test_clock_new: check.func('void *gst_test_clock_new()') as () => Pointer,
    gst_test_clock_set_time: check.func('void gst_test_clock_set_time(void *clock, uint64_t time)') as (
      clock: Pointer,
      time: bigint,
    ) => void,
    gst_test_clock_process_next_clock_id: check.func(
      'void *gst_test_clock_process_next_clock_id(void *clock)',
    ) as (clock: Pointer) => Pointer | null,

    gst_util_set_object_arg: gst.func(
      'void gst_util_set_object_arg(void *object, const char *name, const char *value)',
    ) as (object: Pointer, name: string, value: string) => void,
    gst_value_serialize: gst.func('void *gst_value_serialize(void *value)') as (
      value: Buffer,
    ) => Pointer | null,

    gst_bus_pop_filtered: gst.func('void *gst_bus_pop_filtered(void *bus, int types)') as (
      bus: Pointer,
      types: number,
    ) => Pointer | null,
    gst_bus_set_flushing: gst.func('void gst_bus_set_flushing(void *bus, int flushing)') as (
      bus: Pointer,
      flushing: number,
    ) => void,
    gst_message_parse_error: gst.func(
      'void gst_message_parse_error(void *message, _Out_ void **error, _Out_ void **debug)',
    ) as ParseMessage,
    gst_message_parse_warning: gst.func(
      'void gst_message_parse_warning(void *message, _Out_ void **error, _Out_ void **debug)',
    ) as ParseMessage,

    gst_sample_get_buffer: gst.func('void *gst_sample_get_buffer(void *sample)') as (
      sample: Pointer,
    ) => Pointer | null,
    gst_sample_get_buffer_list: gst.func('void *gst_sample_get_buffer_list(void *sample)') as (
      sample: Pointer,
    ) => Pointer | null,
    gst_sample_get_caps: gst.func('void *gst_sample_get_caps(void *sample)') as (
      sample: Pointer,
    ) => Pointer | null,
    gst_buffer_list_length: gst.func('uint gst_buffer_list_length(void *list)') as (list: Pointer) => number,
    gst_buffer_list_get: gst.func('void *gst_buffer_list_get(void *list, uint index)') as (
      list: Pointer,
      index: number,
    ) => Pointer | null,
    gst_buffer_get_size: gst.func('size_t gst_buffer_get_size(void *buffer)') as (
      buffer: Pointer,
    ) => number | bigint,
    gst_buffer_extract: gst.func(
      'size_t gst_buffer_extract(void *buffer, size_t offset, void *dest, size_t size)',
    ) as (buffer: Pointer, offset: number, dest: Uint8Array, size: number) => number | bigint,

    gst_buffer_new_memdup: gst.func('void *gst_buffer_new_memdup(const void *data, size_t size)') as (
      data: Uint8Array,
      size: number,
    ) => Pointer,
    gst_app_src_push_buffer: app.func('int gst_app_src_push_buffer(void *source, void *buffer)') as (
      source: Pointer,
      buffer: Pointer,
    ) => number,
    gst_app_src_end_of_stream: app.func('int gst_app_src_end_of_stream(void *source)') as (
      source: Pointer,
    ) => number,
    gst_app_sink_try_pull_sample: app.func(
      'void *gst_app_sink_try_pull_sample(void *sink, uint64_t timeout)',
    ) as (sink: Pointer, timeout: number) => Pointer | null,
    gst_app_sink_is_eos: app.func('bool gst_app_sink_is_eos(void *sink)') as (sink: Pointer) => boolean,

    gst_video_event_new_upstream_force_key_unit: video.func(
      'void *gst_video_event_new_upstream_force_key_unit(uint64_t running_time, bool all_headers, uint count)',
    ) as (runningTime: bigint, allHeaders: boolean, count: number) => Pointer,

    gst_registry_get: gst.func('void *gst_registry_get()') as () => Pointer,
    gst_registry_find_plugin: gst.func(
      'void *gst_registry_find_plugin(void *registry, const char *name)',
    ) as (registry: Pointer, name: string) => Pointer | null,
    gst_registry_get_feature_list: gst.func(
      'void *gst_registry_get_feature_list(void *registry, size_t type)',
    ) as (registry: Pointer, type: number | bigint) => Pointer | null,
    gst_plugin_feature_list_free: gst.func('void gst_plugin_feature_list_free(void *list)') as (
      list: Pointer | null,
    ) => void,
    gst_element_factory_get_type: gst.func('size_t gst_element_factory_get_type()') as () => number | bigint,
    gst_element_factory_find: gst.func('void *gst_element_factory_find(const char *name)') as (
      name: string,
    ) => Pointer | null,
  };
}

type ParseMessage = (message: Pointer, error: (Pointer | null)[], debug: (Pointer | null)[]) => void;

let bound: ReturnType<typeof bind> | undefined;

/**
 * The C functions. The first call loads Debian's libgstreamer1.0-0 and libgstreamer-plugins-base1.0-0.
 * @throws when a library is missing
 */
export function native(): ReturnType<typeof bind> {
  bound ??= bind();
  return bound;
}

/** Copies an owned C string and frees it with g_free. */
export function takeString(pointer: Pointer | null): string | null {
  if (!pointer) return null;
  try {
    return koffi.decode.string(pointer);
  } finally {
    native().g_free(pointer);
  }
}

/** Reads an owned GError and frees it. */
export function takeError(pointer: Pointer | null): { domain: number; code: number; message: string } | null {
  if (!pointer) return null;
  try {
    const decoded = koffi.decode(pointer, gError) as { domain: number; code: number; message: string | null };
    return { domain: decoded.domain, code: decoded.code, message: decoded.message ?? '' };
  } finally {
    native().g_error_free(pointer);
  }
}

export function readPointer(base: Pointer, offset: number): Pointer | null {
  return koffi.decode(base, offset, 'void *') as Pointer | null;
}

export function readUint32(base: Pointer, offset: number): number {
  return koffi.decode(base, offset, 'uint32_t') as number;
}

export function readUint64(base: Pointer, offset: number): bigint {
  return BigInt(koffi.decode(base, offset, 'uint64_t') as number | bigint);
}

export function writeUint64(base: Pointer, offset: number, value: bigint): void {
  koffi.encode(base, offset, 'uint64_t', value);
}
