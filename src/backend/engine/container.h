/* SPDX-License-Identifier: MIT */
/*
 * One container with our agent as its first process: made, started, and gone when the agent ends.
 *
 * The agent comes from a volume of the engine, named by its contents, that is filled once and shown
 * read-only: a root that cannot be written, or has no shell, is no obstacle.
 */
#pragma once

#include "backend/backend.h"
#include "backend/engine/client.h"
#include "backend/engine/labels.h"
#include "backend/engine/ours.h"
#include "backend/engine/seccomp.h"
#include "backend/spec.h"

#define ENGINE_ID_MAX 80

struct engine_container {
	char id[ENGINE_ID_MAX];
	char session[ENGINE_SESSION_MAX]; /* its name among ours, until it is gone; "": somebody else's */
	char path[320];	    /* of the request that made it */
	json_t *asked;	    /* what it was made from, owned; NULL where it is somebody else's */
	json_t *volumes;    /* what its image declares as such, owned; or NULL */
	char *warnings;	    /* what the engine said of that, owned; NULL: nothing */
	bool passes_limits_by; /* its engine does */
	struct engine_seccomp seccomp;
	char program[64];   /* of somebody else's: the agent in it; "" in ours */
	char workdir[40];   /* and a folder that is ours to make there */
};

/*
 * What to ask the engine for, as the JSON of its API: the caller's. Our own safe defaults, and
 * over them what the spec's runtime_configs say. NULL: err says why.
 */
json_t *engine_container_describe(const struct engine_flavor *flavor, const struct sbx_spec *spec,
				  const char *image, struct sbx_error *err);

/* Make it of an image that the engine has. */
int engine_container_create(struct engine_client *client, const struct sbx_spec *spec,
			    const char *image, struct engine_container *ret, struct sbx_error *err);

/* Another one like it, in its place, where that could not be started. */
int engine_container_create_again(struct engine_client *client, struct engine_container *container,
				  struct sbx_error *err);

/* Its "Id", which becomes a part of paths; false when it says none that is one. */
bool engine_container_take_id(const json_t *answer, struct engine_container *ret);

/*
 * Use one that is there (attach.c): it is started when it is stopped. *ret_description is what the engine says
 * of it, the caller's.
 */
int engine_container_adopt(struct engine_client *client, const struct sbx_spec *spec,
			   struct engine_container *ret, json_t **ret_description,
			   struct sbx_error *err);

/* Bring the agent into it, which removes itself when it runs: the last that is done before. */
int engine_container_bring(struct engine_client *client, const struct engine_container *container,
			   struct sbx_error *err);

/* The agent's streams in one that is somebody else's. */
int engine_exec_attach(struct engine_client *client, const struct engine_container *container,
		       struct engine_stream **ret, struct sbx_error *err);

/* The user's folders in its root, where they are no tmpfs; before it is started. */
int engine_container_make_folders(struct engine_client *client, const struct sbx_spec *spec,
				  const struct engine_container *container, struct sbx_error *err);

/* A tar archive, unpacked in a folder of it. */
int engine_container_put(struct engine_client *client, const struct engine_container *container,
			 const char *folder, const struct sbx_buf *tar, struct sbx_error *err);

/*
 * What was brought into somebody else's container is to go again, because no agent came to life there that
 * would do it: by the container's own rm(1), and where it has none, of the agent nothing is left but its name.
 */
void engine_container_withdraw(struct engine_client *client, const struct engine_container *container);

/* Start it; its stream must be attached before. */
int engine_container_start(struct engine_client *client, const struct engine_container *container,
			   struct sbx_error *err);

/* The agent's streams, from its first byte on. */
int engine_container_attach(struct engine_client *client, const struct engine_container *container,
			    struct engine_stream **ret, struct sbx_error *err);

/*
 * Kill it if it runs, and remove it; no error when it is gone. Somebody else's stays as it is. Of this
 * process few ask that at the same time: the others wait. One that was started removes itself when its
 * agent ends, and is not to be removed meanwhile (removal.h).
 */
int engine_container_remove(struct engine_client *client, const struct engine_container *container,
			    struct sbx_error *err);

void engine_container_done(struct engine_container *container);

/* ---- what is kept of it (commit.c) ---- */

/* A name that the engine has no image of: the spec's, or a fresh one. The caller's. */
int engine_commit_name(struct engine_client *client, const struct sbx_spec *spec, const char *image,
		       char **ret, struct sbx_error *err);

/* Make an image of what is in it, which starts as config, the one it was made of, says. */
int engine_commit(struct engine_client *client, const struct engine_container *container,
		  const json_t *config, const char *name, struct sbx_error *err);

/*
 * Whether an image is one of these, of this user on this machine: then its /sandbox and /home/sandbox are
 * shown, in volumes, which have no limit on their size. Any image can say that it is one; it is said, and
 * not believed.
 */
struct engine_image;
bool engine_commit_is_of(const struct engine_client *client, const struct sbx_spec *spec,
			 const struct engine_image *image);

/* ---- its users (user.c) ---- */

/* The ids of a name in its /etc/passwd. */
int engine_user_find(struct engine_client *client, const struct engine_container *container,
		     const char *name, uint32_t *ret_uid, uint32_t *ret_gid, struct sbx_error *err);

/* ---- what isolates it (report.c) ---- */

/* What containers are given, as bits: the agent's until it drops them. */
extern const uint64_t engine_capabilities;

/* The fences that the agent is to put up, without those that were wished away: bits of enum wire_fence. */
uint32_t engine_fences(const struct engine_container *container);

/* The places that programs may write at, beside the work folder: *ret_count of them, copies. */
int engine_writable(const struct engine_container *container, const struct sbx_spec *spec,
		    char **ret, size_t max, size_t *ret_count, struct sbx_error *err);

/* uid: whom programs run as; found: what the agent has seen of the container. */
void engine_report(const struct engine_client *client, const struct engine_container *container,
		   uint32_t uid, const struct wire_surroundings *found, struct sbx_report *report);

/* ---- its limits (limits.c) ---- */

/* Whether this engine sets the limits that it takes; it is asked once, where that may not be so. */
bool engine_sets_limits(struct engine_client *client);

/* ---- plans (plan.c) ---- */

int engine_print_plan(const struct sbx_spec *spec, const struct engine_flavor *flavor,
		      struct sbx_buf *out, struct sbx_error *err);

/* ---- the agent's volume ---- */

#define ENGINE_AGENT_FOLDER "/.llm-sandbox"

/* An engine fills an empty volume with what an image has at its place, and this one is of all images. */
#define ENGINE_VOLUME_MODE "nocopy"

/* Below it, what artifacts and kernels need. */
#define ENGINE_EMBEDDED "support"

#define ENGINE_VOLUME_MAX 96

/* The volume's name: "llm-sandbox-agent-" and the digests of what is in it. */
void engine_volume_name(const struct sbx_spec *spec, char ret[ENGINE_VOLUME_MAX]);

/*
 * Whether it is there and whole; once a week that is noted with the engine, where other versions of this
 * program remove what nobody has used for two months, as this one does. An engine makes a volume before anything is in it, and makes one that
 * was removed anew, empty: what says that it is whole is a second volume, made when all is in the first.
 */
bool engine_volume_is_whole(struct engine_client *client, const struct sbx_spec *spec);

/* Whether it was filled in the last seconds. */
bool engine_volume_is_fresh(struct engine_client *client, const struct sbx_spec *spec);

/* It was not what it was taken for: it is filled again the next time. */
void engine_volume_distrust(struct engine_client *client, const struct sbx_spec *spec);

/* Append the agent under this name, and the archive's end. */
void engine_volume_pack(struct sbx_buf *tar, const char *name);

/*
 * Make it with the agent in it, by way of a container of this image that is never started. Of all processes
 * that would, on whichever machine, one does: the container's name is its lock.
 */
int engine_volume_fill(struct engine_client *client, const struct sbx_spec *spec, const char *image,
		       struct sbx_error *err);
