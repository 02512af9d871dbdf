/* SPDX-License-Identifier: MIT */
#include "backend/native/agent_image.h"

#include "base/auto.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u /* Linux 6.3 */
#endif

extern const char sbx_agent_image_start[];
extern const char sbx_agent_image_end[];

/* Kernels before 6.3 do not know MFD_EXEC; later ones may insist on it (vm.memfd_noexec). */
static int make_memfd(void)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("llm-sandbox-agent", flags | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("llm-sandbox-agent", flags);
	return fd;
}

int agent_image_open(int *ret, struct sbx_error *err)
{
	auto_close int fd = make_memfd();
	size_t len = (size_t)(sbx_agent_image_end - sbx_agent_image_start);
	int r;

	if (fd < 0)
		return sbx_fail_errno(err, errno,
				      "cannot make the agent's memory file (vm.memfd_noexec must be 0 or 1)");
	r = sbx_write_all(fd, sbx_agent_image_start, len);
	if (r < 0)
		return sbx_fail_errno(err, -r, "cannot fill the agent's memory file");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return sbx_fail_errno(err, errno, "cannot seal the agent's memory file");
	*ret = take_fd(fd);
	return 0;
}
