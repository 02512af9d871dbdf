/* SPDX-License-Identifier: MIT */
/*
 * What only sandboxes of container engines have: where their image comes from, what is asked of the
 * engine besides our own safe defaults, and what is kept of them. All of it is part of a spec whose
 * backend is "docker" or "podman"; with another backend a session does not open.
 */
#ifndef LLMSANDBOX_CONTAINER_H
#define LLMSANDBOX_CONTAINER_H

#include <llmsandbox/session.h>
#include <llmsandbox/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When an image is asked of its registry. */
enum sbx_pull {
	SBX_PULL_MISSING, /* when the engine does not have it; the default */
	SBX_PULL_ALWAYS,
	SBX_PULL_NEVER
};

/*
 * Build the image from this file when a session opens, with the folder that it is in as its context
 * (what .dockerignore names is left out). tag is what the image is called, or NULL: a name made of
 * the folder's. The engine's cache makes a second build fast. NULL for file: none. SBX_E_NOT_FOUND
 * when there is no such file.
 */
SBX_API int sbx_spec_set_dockerfile(struct sbx_spec *spec, const char *file, const char *tag,
				    struct sbx_error *err);

/*
 * The folder that the build sees, in place of the one that the Containerfile is in, which then may be
 * anywhere. NULL: that one. SBX_E_NOT_FOUND.
 */
SBX_API int sbx_spec_set_build_context(struct sbx_spec *spec, const char *folder,
				       struct sbx_error *err);

/* SBX_E_INVALID when there is no such policy. */
SBX_API int sbx_spec_set_pull(struct sbx_spec *spec, enum sbx_pull pull, struct sbx_error *err);

/*
 * Run in a container that is there already, by its id or name: it is started when it is stopped, it
 * is left running, and nothing of ours stays in it. Its isolation is what its owner made it: the
 * programs have the fences that the agent puts up, and no more. NULL, the default: one of our own.
 * With a Containerfile no session opens (SBX_E_INVALID); an image is then not looked at.
 */
SBX_API int sbx_spec_set_container(struct sbx_spec *spec, const char *id, struct sbx_error *err);

/*
 * What is asked of the engine, as a JSON object with the names that docker-py has for it:
 * {"mem_limit": "512m", "network_mode": "bridge"}. Each wins over our own default of its kind; the
 * isolation report says which fences are then off. Limits, the user, the work folder, and the
 * environment are set in the spec itself. A second call adds to the first. SBX_E_INVALID names
 * what cannot be had, and why; no limit and no fence is then other than before.
 */
SBX_API int sbx_spec_set_runtime_configs(struct sbx_spec *spec, const char *json,
					 struct sbx_error *err);

/* Keep an image that a session has pulled or built: false, unless set: it is removed at the end. */
SBX_API void sbx_spec_keep_template(struct sbx_spec *spec, bool keep);

/*
 * Keep what programs changed in the container as an image when the session closes, which takes some
 * seconds then. The container's root can be written for it, and the work folder is in it. tag is the
 * image's name, or NULL: a fresh one, "llm-sandbox-commit/…". A tag that the engine has already is
 * refused when the session opens (SBX_E_INVALID): no image is overwritten.
 */
SBX_API int sbx_spec_set_commit(struct sbx_spec *spec, bool commit, const char *tag,
				struct sbx_error *err);

/*
 * The environment of micromamba or conda that programs find their tools in, by its name. NULL, the
 * default: as the image has it. The backend "micromamba" is "docker" with "base" here.
 */
SBX_API int sbx_spec_set_environment(struct sbx_spec *spec, const char *name,
				     struct sbx_error *err);

/*
 * Show programs nothing but the image and their code: no library can be installed, and none of our
 * folders is shown.
 */
SBX_API void sbx_spec_skip_environment_setup(struct sbx_spec *spec, bool skip);

/*
 * Called with each line of what the engine says while it pulls or builds, and with the name that an
 * image was committed to. From the thread that opens the session, or one that closing it waits for.
 * line has no line end, and no control characters. Unless it is set nothing is said.
 */
typedef void sbx_engine_line_fn(const char *line, void *userdata);

SBX_API void sbx_spec_on_progress(struct sbx_spec *spec, sbx_engine_line_fn *fn, void *userdata);

/*
 * Opening a session with this spec ends early, within a second or two, when this handle interrupts or
 * kills: a pull or a build may take long. It must outlive sbx_session_open(), and says nothing of what
 * is run then; NULL: none.
 */
SBX_API void sbx_spec_set_cancel(struct sbx_spec *spec, const struct sbx_cancel *cancel);

/* The name that the session's container will be committed to; NULL when it will not. The session's. */
SBX_API const char *sbx_session_commit_tag(const struct sbx_session *session);

#ifdef __cplusplus
}
#endif

#endif
