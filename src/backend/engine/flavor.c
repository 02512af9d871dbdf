/* SPDX-License-Identifier: MIT */
#include "backend/engine/flavor.h"

#include <stddef.h>

static const char *const docker_sockets[] = {"/var/run/docker.sock", "/run/docker.sock",
					     "$XDG_RUNTIME_DIR/docker.sock",
					     "$HOME/.docker/desktop/docker.sock", NULL};
static const char *const podman_sockets[] = {"$XDG_RUNTIME_DIR/podman/podman.sock",
					     "/run/podman/podman.sock",
					     "/var/run/podman/podman.sock", NULL};

const struct engine_flavor engine_docker = {
	.name = "docker",
	.title = "Docker",
	.host_variable = "DOCKER_HOST",
	.program = "docker",
	.url_option = "--host",
	.contexts = true,
	.sockets = docker_sockets,
	.start_hint = "start it (systemctl start docker), or set DOCKER_HOST",
	.commit_by_changes = false,
	.closes_loopback = true,
	.seccomp_inline = true,
};

const struct engine_flavor engine_podman = {
	.name = "podman",
	.title = "Podman",
	.host_variable = "CONTAINER_HOST",
	.key_variable = "CONTAINER_SSHKEY",
	.program = "podman",
	.url_option = "--url",
	.sockets = podman_sockets,
	.start_hint = "start it (systemctl --user start podman.socket), or set CONTAINER_HOST",
	.commit_by_changes = true,
	.takes_quotes_off = true,
	.masks_by_option = true,
	.shows_names = true,
	.fills_tmpfs = true,
	.passes_over = true,
	.seccomp_inline = false,
};
