/* SPDX-License-Identifier: MIT */
#include "agent/usage.h"

#include "agent/send.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 100

/* https://docs.kernel.org/admin-guide/cgroup-v2.html, …/cgroup-v1/memory.html */
static const char *const peaks[] = {
	"/sys/fs/cgroup/memory.peak",
	"/sys/fs/cgroup/memory/memory.max_usage_in_bytes",
};
static const char *const kills[] = {
	"/sys/fs/cgroup/memory.events",
	"/sys/fs/cgroup/memory/memory.oom_control",
};

static int open_one(const char *const paths[2])
{
	int fd = open(paths[0], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 ? fd : open(paths[1], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* The number behind this word at the start of a line, or at the start of the file; else 0. */
static uint64_t read_number(int fd, const char *word)
{
	char text[512];
	ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;
	const char *at = text;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	while (strncmp(at, word, strlen(word)) != 0) {
		at = strchr(at, '\n');
		if (at == NULL)
			return 0;
		at++;
	}
	return strtoull(at + strlen(word), NULL, 10);
}

static uint64_t count_kills(const struct usage *u)
{
	return read_number(u->kills_fd, "oom_kill ");
}

void usage_init(struct usage *u)
{
	*u = (struct usage){.peak_fd = -1, .kills_fd = -1};
}

void usage_open(struct usage *u, bool shared)
{
	/* The peak of a container of somebody else's is not ours to tell. */
	if (!shared)
		u->peak_fd = open_one(peaks);
	u->kills_fd = open_one(kills);
	u->killed_before = count_kills(u);
}

uint64_t usage_deadline_ns(const struct usage *u)
{
	return u->kills_fd < 0 ? 0 : u->next_ns ? u->next_ns : 1;
}

void usage_tell(struct usage *u, struct sbx_conn *conn, bool ending)
{
	struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_usage now;

	if (u->kills_fd < 0 || (!ending && sbx_now_ns() < u->next_ns))
		return;
	u->next_ns = sbx_deadline_ns(TICK_MS);
	now.peak_memory_bytes = read_number(u->peak_fd, "");
	now.oom_kills = count_kills(u) - u->killed_before;
	if (now.oom_kills == u->told.oom_kills &&
	    (!ending || now.peak_memory_bytes == u->told.peak_memory_bytes))
		return;
	u->told = now;
	wire_usage_format(&payload, &now);
	send_bytes(conn, WIRE_USAGE, 0, payload.data, payload.len);
	sbx_buf_done(&payload);
}
