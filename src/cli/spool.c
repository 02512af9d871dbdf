/* SPDX-License-Identifier: MIT */
#include "cli/spool.h"

#include "cli/files.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536

static int copy_all(int from, int to, struct sbx_error *err)
{
	char chunk[CHUNK];
	ssize_t n;
	int r;

	while ((n = read(from, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cli_fail(err, SBX_E_INVALID, "cannot read stdin: %s",
					strerror(errno));
		r = file_write(to, chunk, (size_t)n);
		if (r < 0)
			return cli_fail(err, SBX_E_SYSTEM, "cannot keep what stdin gives: %s",
					strerror(-r));
	}
	return 0;
}

int spool_take(int fd, struct spool *ret, struct sbx_error *err)
{
	const char *tmp = getenv("TMPDIR");
	int file, r;

	if (tmp == NULL || tmp[0] != '/' || strlen(tmp) > 200)
		tmp = "/tmp";
	snprintf(ret->folder, sizeof(ret->folder), "%s/llm-sandbox-XXXXXX", tmp);
	if (mkdtemp(ret->folder) == NULL) {
		ret->folder[0] = '\0';
		return cli_fail(err, SBX_E_SYSTEM, "cannot make a folder in '%s': %s", tmp,
				strerror(errno));
	}
	snprintf(ret->path, sizeof(ret->path), "%s/stdin", ret->folder);
	file = open(ret->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	r = file < 0 ? cli_fail(err, SBX_E_SYSTEM, "cannot make '%s': %s", ret->path,
				strerror(errno))
		     : copy_all(fd, file, err);
	if (file >= 0)
		close(file);
	if (r < 0)
		spool_done(ret);
	return r;
}

void spool_done(const struct spool *spool)
{
	if (spool->path[0] != '\0')
		unlink(spool->path);
	if (spool->folder[0] != '\0')
		rmdir(spool->folder);
}
