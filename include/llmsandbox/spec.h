/* SPDX-License-Identifier: MIT */
/*
 * A spec says what sandbox you want: backend, limits, environment, mounts, user. It starts with
 * safe defaults and is only ever read by sessions, so one spec may open many of them. A spec
 * belongs to one thread at a time while it is changed.
 */
#ifndef LLMSANDBOX_SPEC_H
#define LLMSANDBOX_SPEC_H

#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_spec;

enum sbx_limit {
	SBX_LIMIT_WALL_MS,	/* wall-clock time of one run */
	SBX_LIMIT_CPU_MS,	/* CPU time of each process of a run; 0 = none */
	SBX_LIMIT_CPU_MILLI,	/* CPUs that all processes share, in thousandths of one */
	SBX_LIMIT_MEMORY_BYTES, /* memory of all processes and files in memory; no swap */
	SBX_LIMIT_PROCESSES,	/* processes and threads at one time */
	SBX_LIMIT_DISK_BYTES,	/* all that is written in the sandbox's own folders */
	SBX_LIMIT_OPEN_FILES,	/* descriptors of one process */
	SBX_LIMIT_HEAD_BYTES,	/* kept from the start of each output stream */
	SBX_LIMIT_TAIL_BYTES,	/* kept from the end of each output stream */
	SBX_LIMIT_EXECUTION_MS, /* wall-clock time of one run, before SBX_LIMIT_WALL_MS; 0 = unset */
	SBX_LIMIT_SESSION_MS,	/* life of a session, from its opening; 0 = none */
	SBX_LIMIT_ARTIFACTS,	/* artifacts of one run */
	SBX_LIMIT_ARTIFACT_BYTES, /* in all artifacts of one run together */
	SBX_LIMIT_COUNT
};

/* No limit, where a time is given: io.timeout_ms, SBX_LIMIT_WALL_MS and SBX_LIMIT_EXECUTION_MS. */
#define SBX_TIMEOUT_NONE UINT64_MAX

enum sbx_unit { SBX_UNIT_COUNT, SBX_UNIT_BYTES, SBX_UNIT_MS, SBX_UNIT_MILLI };

/* One row of the table of limits: the default, the range, and how the limit is called. */
struct sbx_limit_info {
	const char *name;    /* as in the result and in the command line's option: "memory" */
	const char *summary; /* one line for people */
	enum sbx_unit unit;
	uint64_t least, most, standard;
};

/* The row of a limit, or NULL when there is no such limit. Any thread; never freed. */
SBX_API const struct sbx_limit_info *sbx_limit_describe(enum sbx_limit limit);

/* A spec with the defaults; free it with sbx_spec_free(). Fails without memory only. */
SBX_API int sbx_spec_new(struct sbx_spec **ret, struct sbx_error *err);

/* NULL is allowed. Sessions opened with the spec must be closed first. */
SBX_API void sbx_spec_free(struct sbx_spec *spec);

/*
 * "native" (the default), "docker", "podman", "micromamba", which is docker with an environment (see
 * container.h), or "auto": native where this machine isolates with it, and else the first engine that
 * answers, which is found at once; where the spec already names an image or a container, an engine.
 * SBX_E_NOT_FOUND names the backends that there are; SBX_E_UNAVAILABLE: for auto there is none.
 */
SBX_API int sbx_spec_set_backend(struct sbx_spec *spec, const char *name, struct sbx_error *err);

/* SBX_E_INVALID when value is outside the limit's range. */
SBX_API int sbx_spec_set_limit(struct sbx_spec *spec, enum sbx_limit limit, uint64_t value,
			       struct sbx_error *err);
SBX_API uint64_t sbx_spec_get_limit(const struct sbx_spec *spec, enum sbx_limit limit);

/* Add or replace one variable, "NAME=value"; it is copied. */
SBX_API int sbx_spec_add_env(struct sbx_spec *spec, const char *assignment, struct sbx_error *err);

/*
 * Show a file or folder of the host inside, read-only unless writable. host must exist; inside
 * is absolute, without "..", and hides nothing that the sandbox needs (/, /proc, /dev, /usr …
 * are refused). The owner of host is shown as the sandbox's user. Both are copied.
 */
SBX_API int sbx_spec_add_mount(struct sbx_spec *spec, const char *host, const char *inside,
			       bool writable, struct sbx_error *err);

/* Run programs as this user and group, 0 to 65534 (default 1000:1000). */
SBX_API int sbx_spec_set_user(struct sbx_spec *spec, uint32_t uid, uint32_t gid,
			      struct sbx_error *err);

/*
 * The folder that programs start in and code is put in (default /sandbox): absolute, without
 * "..", below /sandbox, /tmp, /home/sandbox or a writable mount; made when it is missing. In a container it
 * may be anywhere: what the image has there is seen, and can be changed.
 */
SBX_API int sbx_spec_set_workdir(struct sbx_spec *spec, const char *path, struct sbx_error *err);

/*
 * The image that the sandbox's root is of. With an engine, what a container is made of ("debian:12");
 * NULL, the default: that of the language, which is "llm-sandbox/LANGUAGE" where the engine has it, and
 * else a public one; more about containers is in container.h. With the native backend, the name of an
 * image that is kept (image.h), or a folder ("/x", "./x"): nothing of this machine's files is shown then,
 * and libraries cannot be installed; NULL: this machine's tool chains, read-only. It is copied.
 */
SBX_API int sbx_spec_set_image(struct sbx_spec *spec, const char *image, struct sbx_error *err);

/*
 * The one language that will be run (an id or alias), or "none"; NULL, the default, is any. Warm
 * caches of other tool chains are then not shown inside, which makes the start faster. Another
 * language still runs. SBX_E_NOT_FOUND when there is no such language.
 */
SBX_API int sbx_spec_set_language(struct sbx_spec *spec, const char *language,
				  struct sbx_error *err);

/*
 * Whether libraries can be installed for its sessions (see library.h): true, unless set; false
 * makes the start a little faster.
 */
SBX_API void sbx_spec_use_libraries(struct sbx_spec *spec, bool use);

/*
 * Whether runs of its sessions will want artifacts, or be cells of kernels: false, unless set.
 * They may all the same; true makes the first of them faster, and every start a little slower.
 */
SBX_API void sbx_spec_use_support(struct sbx_spec *spec, bool use);

/*
 * What opening this spec would do on this machine, one step a line, without doing any of it;
 * free() *ret.
 */
SBX_API int sbx_spec_print_plan(const struct sbx_spec *spec, char **ret, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
