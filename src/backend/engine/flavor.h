/* SPDX-License-Identifier: MIT */
/*
 * What differs between the engines that speak the Docker Engine API: a table each. Which one an
 * engine is it says itself, wherever it was looked for: Podman may stand behind DOCKER_HOST.
 */
#pragma once

#include <stdbool.h>

struct engine_flavor {
	const char *name;	/* of the backend: "docker" */
	const char *title;	/* "Docker" */
	const char *host_variable;
	const char *key_variable;   /* names a file with a key for ssh, or NULL */
	const char *program;	    /* its command line */
	const char *url_option;	    /* by which that takes the path of a socket */
	bool contexts;		    /* Docker's contexts and variables for TLS hold */
	const char *const *sockets; /* places to look at, NULL-terminated; "$XDG_RUNTIME_DIR/…" */
	const char *start_hint; /* what to do when none listens */
	bool commit_by_changes; /* and not by the description in the body */
	bool takes_quotes_off;	/* of a value in "changes", and leaves what is between as it is */
	bool masks_by_option;	/* files of /proc are hidden by security_opt, not by MaskedPaths */
	bool closes_loopback; /* to IPv6, where there is no network */
	bool shows_names; /* this machine's hosts and name servers, also where there is no network */
	bool fills_tmpfs; /* with what the image has at its place */
	bool passes_over;	/* takes some options, and does without them: runtime.c knows which */
	bool seccomp_inline;	/* a profile goes as JSON text, not as the path of a file */
};

extern const struct engine_flavor engine_docker, engine_podman;
