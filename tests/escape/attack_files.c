/* SPDX-License-Identifier: MIT */
/* The file tree: what must not be there, must not be written, and links laid as traps. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Nothing of the host: each is missing, closed, or an empty folder. */
static int host_files(char **args)
{
	static const char *const always[] = {"/root", "/work", "/boot", "/var/log", "/var/lib/dpkg",
					     "/srv", "/mnt", "/media", "/sys/kernel", "/sys/fs/cgroup",
					     "/run/systemd", "/run/user", "/etc/shadow",
					     "/etc/ssh", "/etc/sudoers", "/lost+found"};
	int bad = 0;

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		DIR *folder = opendir(always[i]);
		struct dirent *e;

		if (folder == NULL && errno == ENOTDIR)
			bad |= came_through("%s is there", always[i]);
		while (folder != NULL && (e = readdir(folder)) != NULL)
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
				bad |= came_through("%s/%s is visible", always[i], e->d_name);
		if (folder != NULL)
			closedir(folder);
	}
	for (; *args != NULL; args++)
		bad |= must_be_denied(*args, access(*args, F_OK));
	return bad;
}

static bool is_harmless(const char *path, dev_t device)
{
	static const unsigned int minors[] = {3, 5, 7, 8, 9}; /* null zero full random urandom */

	if (major(device) == 1)
		for (size_t i = 0; i < sizeof(minors) / sizeof(minors[0]); i++)
			if (minor(device) == minors[i])
				return true;
	if (major(device) == 5 && (minor(device) == 0 || minor(device) == 2))
		return true; /* tty, ptmx */
	return strncmp(path, "/dev/pts/", 9) == 0 || strcmp(path, "/dev/console") == 0;
}

/* Refused, or swallowed by the null device that hides the file. */
static int try_write(const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
	struct stat st;
	int bad;

	if (fd < 0 && errno == ETXTBSY)
		return held("%s: busy", path);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && is_harmless(path, st.st_rdev)) {
		close(fd);
		return held("%s: hidden", path);
	}
	bad = must_be_denied(path, fd < 0 ? -1 : write(fd, "0\n", 2));
	if (fd >= 0)
		close(fd);
	return bad;
}

static int kernel_settings(char **args)
{
	static const char *const files[] = {
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname",
		"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/randomize_va_space",
		"/proc/sys/kernel/shmmax", "/proc/sys/fs/mqueue/queues_max",
		"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/drop_caches",
		"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/ping_group_range",
		"/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger",
		"/proc/irq/default_smp_affinity", "/proc/bus/pci/devices", "/proc/mtrr",
		"/proc/acpi/wakeup", "/proc/fs/nfsd/threads", "/proc/self/uid_map",
	};
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		bad |= try_write(files[i], 0);
	return bad;
}

/* Missing, closed or empty. */
static int kernel_secrets(char **args)
{
	static const char *const files[] = {"/proc/kcore", "/proc/keys", "/proc/key-users",
					    "/proc/timer_list", "/proc/sched_debug",
					    "/proc/kmsg", "/proc/latency_stats",
					    "/proc/kallsyms", "/proc/modules",
					    "/proc/cmdline", "/proc/scsi/scsi"};
	char text[64];
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (read_text(files[i], text, sizeof(text)) > 0)
			bad |= came_through("%s can be read", files[i]);
	return bad;
}

static int read_only_system(char **args)
{
	static const char *const files[] = {"/usr/escape", "/usr/bin/escape", "/usr/bin/env",
					    "/etc/passwd", "/etc/escape", "/escape", "/bin/escape",
					    "/lib/escape", "/opt/escape", "/dev/escape",
					    "/proc/escape"};
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		bad |= try_write(files[i], O_CREAT);
	bad |= must_be_denied("rename /usr/bin/env", rename("/usr/bin/env", "/usr/bin/env2"));
	bad |= must_be_denied("unlink /etc/passwd", unlink("/etc/passwd"));
	bad |= must_be_denied("chmod /usr/bin/env", chmod("/usr/bin/env", 0777));
	bad |= must_be_denied("mkdir /x", mkdir("/x", 0777));
	return bad;
}

static int own_program(char **args)
{
	(void)args;
	return try_write("/proc/self/exe", 0) | try_write("/attack", 0);
}

static int walk_devices(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[512];
	struct stat st;
	int bad = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (lstat(path, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode))
			bad |= walk_devices(path);
		if (S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !is_harmless(path, st.st_rdev)))
			bad |= came_through("device %s is there", path);
	}
	if (d != NULL)
		closedir(d);
	return bad;
}

static int device_nodes(char **args)
{
	static const char *const nodes[] = {"/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda",
					    "/dev/loop0", "/dev/kvm", "/dev/fuse", "/dev/net/tun",
					    "/dev/port", "/dev/vsock", "/dev/uinput"};
	int bad = walk_devices("/dev");

	(void)args;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		bad |= must_be_denied(nodes[i], open(nodes[i], O_RDWR | O_CLOEXEC));
	return bad;
}

/* A mount of one device node, as in /dev or over a hidden file of /proc: is it a harmless one? */
static int check_node(const char *point, dev_t device)
{
	return is_harmless(point, device) ? 0 : came_through("a device is at %s", point);
}

/* Split a line of /proc/self/mountinfo: "id parent dev root POINT OPTIONS ... - TYPE ...". */
static int check_mount(const char *line)
{
	char point[512], options[512];
	const char *type = strstr(line, " - ");
	struct stat st;
	int bad = 0;

	if (type == NULL || sscanf(line, "%*s %*s %*s %*s %511s %511s", point, options) != 2)
		return came_through("cannot read '%s'", line);
	if (strncmp(type + 3, "cgroup", 6) == 0)
		bad |= came_through("a cgroup file system is at %s", point);
	if (strncmp(type + 3, "sysfs", 5) == 0)
		bad |= came_through("sysfs is at %s", point);
	if (lstat(point, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
		return bad | check_node(point, st.st_rdev);
	if (strstr(options, "nosuid") == NULL)
		bad |= came_through("%s may hold set-user-id files: %s", point, options);
	if (strstr(options, "nodev") == NULL && strcmp(point, "/dev/pts") != 0)
		bad |= came_through("%s may hold devices: %s", point, options);
	return bad;
}

static int mount_options(char **args)
{
	static char text[1 << 18];
	int bad = 0;

	(void)args;
	if (read_text("/proc/self/mountinfo", text, sizeof(text)) <= 0)
		return came_through("cannot read the list of mounts");
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		bad |= check_mount(line);
	return bad;
}

/* The classic: have the kernel run a program when the cgroup is empty. */
static int release_agent(char **args)
{
	static const char *const files[] = {
		"/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent",
		"/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/pids/cgroup.procs"};
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		bad |= try_write(files[i], 0);
	return bad;
}

/* PATH TARGET pairs: put a link at every path, whatever is there. */
static int plant(char **args)
{
	for (; args[0] != NULL; args += 2) {
		remove(args[0]);
		if (symlink(args[1], args[0]) != 0)
			return came_through("cannot plant '%s': %s", args[0], strerror(errno));
	}
	return held("planted");
}

/* The file holds exactly this text. */
static int holds(char **args)
{
	char text[4096];

	if (read_text(args[0], text, sizeof(text)) < 0)
		return came_through("cannot read %s", args[0]);
	if (strcmp(text, args[1]) != 0)
		return came_through("%s holds '%s'", args[0], text);
	return held("%s is as it was", args[0]);
}

static int print_file(char **args)
{
	char text[8192];

	if (read_text(args[0], text, sizeof(text)) < 0)
		return 1;
	return fputs(text, stdout) < 0;
}

/* No file whose name starts with "core" in the work folder. */
static int no_core(char **args)
{
	DIR *d = opendir("/sandbox");
	struct dirent *e;
	int bad = 0;

	(void)args;
	while (d != NULL && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, "core", 4) == 0)
			bad |= came_through("there is %s", e->d_name);
	return bad;
}

#define AGENT "/.llm-sandbox/agent"

/* A second agent, with folders to open and to hand over. It says hello to whoever started it, and ends. */
static int start_agent(void)
{
	char *argv[] = {(char *)AGENT, (char *)"--stdio", (char *)"/etc", (char *)"/usr", NULL};
	struct stat before, after;
	int status = 0;
	pid_t pid;

	if (stat("/etc", &before) < 0)
		return came_through("there is no /etc");
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, 0);
		dup2(null, 1);
		execv(AGENT, argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (stat("/etc", &after) < 0 || before.st_mode != after.st_mode || before.st_uid != after.st_uid)
		return came_through("a second agent has changed /etc");
	return held("a second agent ended with %d", status);
}

/* Where a container has the agent, which others start as well. */
static int agent_folder(char **args)
{
	struct stat st;
	int bad = 0;

	(void)args;
	if (stat(AGENT, &st) < 0)
		return held("there is no %s", AGENT);
	bad |= must_be_denied("writing the agent", open(AGENT, O_WRONLY | O_CLOEXEC));
	bad |= must_be_denied("a file beside it", open("/.llm-sandbox/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	bad |= must_be_denied("removing it", unlink(AGENT));
	bad |= must_be_denied("moving it", rename(AGENT, "/.llm-sandbox/y"));
	bad |= must_be_denied("moving its folder", rename("/.llm-sandbox", "/.llm-sandbox-2"));
	bad |= must_be_denied("its mode", chmod(AGENT, 04777));
	bad |= must_be_denied("its owner", chown(AGENT, getuid(), getgid()));
	bad |= must_be_denied("its times", utimensat(AT_FDCWD, AGENT, NULL, 0));
	bad |= must_be_denied("its attributes", setxattr(AGENT, "user.x", "1", 1, 0));
	bad |= must_be_denied("its length", truncate(AGENT, 0));
	return bad | start_agent();
}

/* Whoever speaks to an engine is root on its machine. */
static int engine_sockets(char **args)
{
	static const char *const places[] = {
		"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
		"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/user/1000/docker.sock",
		"/run/user/1000/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
	};
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sockaddr_un there = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		snprintf(there.sun_path, sizeof(there.sun_path), "%s", places[i]);
		bad |= must_be_denied(places[i], connect(fd, (struct sockaddr *)&there, sizeof(there)));
		close(fd);
	}
	return bad;
}

const struct attack attacks_on_files[] = {
	{"agent-folder", agent_folder},
	{"engine-sockets", engine_sockets},
	{"host-files", host_files},
	{"kernel-settings", kernel_settings},
	{"kernel-secrets", kernel_secrets},
	{"read-only-system", read_only_system},
	{"own-program", own_program},
	{"device-nodes", device_nodes},
	{"mount-options", mount_options},
	{"release-agent", release_agent},
	{"plant", plant},
	{"holds", holds},
	{"print", print_file},
	{"no-core", no_core},
	{NULL, NULL},
};
