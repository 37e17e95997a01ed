/* The C interface of libkerntrace.so, for ctypes. No function prints, throws or aborts; a code other than KT_OK has its
 * reason in kt_error(). Every function may be called from any thread.
 *
 * There are two ways to record:
 *   by injection  CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH name this library and KERNTRACE_DIRECTORY is set: each
 *                 process of the tree opens a shard of its own when it first uses CUDA or NVTX;
 *   by call       kt_start(), in the process itself.
 * A process has one CUPTI session in its life. Settings, as "name=value" lines for kt_start or as KERNTRACE_NAME variables:
 *   directory     where shards go; must exist
 *   kinds         comma-separated: kernels, memops, launches, api, syncs, overheads, ranges, graphs
 *                 (default: kernels,memops,launches,overheads,ranges; graphs excludes kernels)
 *   range         all (default), cuda (cudaProfilerStart to Stop), nvtx:NAME, manual (kt_open_window to kt_close_window)
 *   cupti         paths of libcupti to try, colon-separated, when the process has none mapped
 *   buffer_bytes  of one activity buffer (default 4 MiB);  max_buffers  bound of the pool (default 128)
 *   flush_ms      how often the worker asks CUPTI for finished records (default 1000; 0: only at the end)
 *   exit_ms       the longest that an exit handler waits for the tail (default 10000)
 *   sync          none (default), close or chunk: when to force the shard to the disk
 */
#ifndef KERNTRACE_CAPI_H
#define KERNTRACE_CAPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KT_API __attribute__((visibility("default")))

typedef enum kt_code {
  KT_OK = 0,
  KT_BAD_SETTING = 1,   /* a setting is unknown or has no meaning */
  KT_NO_CUPTI = 2,      /* no libcupti was found, or none that loads */
  KT_OLD_CUPTI = 3,     /* libcupti is older than CUDA 12 */
  KT_NO_DRIVER = 4,     /* the NVIDIA driver is missing */
  KT_CUPTI_TAKEN = 5,   /* another tool holds CUPTI: see kt_error() for its name */
  KT_NO_PERMISSION = 6, /* the driver does not let this user profile */
  KT_CUPTI_FAILED = 7,  /* any other CUPTI error */
  KT_FOREIGN_CLOCK = 8, /* another tool has replaced CUPTI's clock */
  KT_DISK = 9,          /* the shard cannot be created or written */
  KT_STATE = 10,        /* not recording, recording already, or recorded once before */
  KT_TIMEOUT = 11,      /* the worker did not answer in time; what it had written stays */
  KT_FORKED = 12,       /* a forked child of a process that used CUPTI cannot use it again */
  KT_NO_MEMORY = 13     /* memory or a thread could not be had */
} kt_code;

/* Start recording in this process: open a shard, load and subscribe to CUPTI, and, for range `all`, enable the kinds.
 * If CUPTI cannot be used the code says why and nothing is recorded. */
KT_API int kt_start(const char *settings);

/* Begin and end a capture window of range `manual` (of any range but `all`). CUPTI's kinds are enabled at the first window
 * and stay so: from then on windows only choose what is kept, because a second session has wrong correlation ids. */
KT_API int kt_open_window(void);
KT_API int kt_close_window(void);

/* Write what is finished. Synchronise the device first to have all of it. */
KT_API int kt_flush(uint32_t timeout_ms);

/* Flush, disable, flush, unsubscribe and close the shard. Synchronise the device first. */
KT_API int kt_stop(uint32_t timeout_ms);

/* 1 while this process is being recorded, by either way. */
KT_API int kt_recording(void);

/* Copy the StatusRecord of kerntrace/records.h as it stands; at most `size` bytes. */
KT_API int kt_status(void *record, size_t size);

/* Path of this process's shard, or "" if it has none. */
KT_API const char *kt_shard(void);

/* A range in domain `kerntrace` on this thread, without NVTX in between. Nothing happens when nothing is recorded. */
KT_API void kt_push(const char *name, int64_t payload);
KT_API void kt_pop(void);

/* CUPTI's clock; CLOCK_REALTIME where CUPTI is not loaded. */
KT_API uint64_t kt_timestamp(void);

/* What a recording would meet here, as "name=value" lines in `text`: path, version, code, message, holder. Loads libcupti
 * and subscribes for a moment unless this process is being recorded. Returns the code. */
KT_API int kt_probe(const char *cupti_paths, char *text, size_t size);

/* The reason of this thread's last code other than KT_OK, one line. */
KT_API const char *kt_error(void);

/* A code in words, e.g. "cupti-taken". */
KT_API const char *kt_code_name(int code);

/* Version of the library, and the layout of its records as "record:bytes field=offset ..." lines. */
KT_API const char *kt_version(void);
KT_API const char *kt_layout(void);

#ifdef __cplusplus
}
#endif

#endif
