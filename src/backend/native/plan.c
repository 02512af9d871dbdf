/* SPDX-License-Identifier: MIT */
#include "backend/native/plan.h"

#include "base/auto.h"
#include "base/path.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- adding steps ---- */

static struct step *add(struct plan *plan, enum step_kind kind)
{
	static struct step overflow;

	if (plan->count == PLAN_STEPS_MAX) {
		plan->failed = true;
		return &overflow;
	}
	plan->steps[plan->count] = (struct step){.kind = kind};
	return &plan->steps[plan->count++];
}

/* The two parts as one string of the plan; NULL when it is full. */
static const char *join(struct plan *plan, const char *first, const char *second)
{
	size_t room = sizeof(plan->text) - plan->text_used;
	char *text = plan->text + plan->text_used;
	int len = snprintf(text, room, "%s%s", first, second);

	if (len < 0 || (size_t)len >= room) {
		plan->failed = true;
		return NULL;
	}
	plan->text_used += (size_t)len + 1;
	return text;
}

static const char *copy(struct plan *plan, const char *text)
{
	return join(plan, text, "");
}

/* PLAN_ROOT and a path inside. */
static const char *at_root(struct plan *plan, const char *path)
{
	return join(plan, PLAN_ROOT, path);
}

static void add_folder(struct plan *plan, const char *path, uint32_t mode)
{
	struct step *s = add(plan, STEP_FOLDER);

	s->target = at_root(plan, path);
	s->mode = mode;
}

static void add_owned_folder(struct plan *plan, const char *path, uint32_t mode, uint32_t uid,
			     uint32_t gid)
{
	struct step *s = add(plan, STEP_FOLDER);

	s->target = at_root(plan, path);
	s->mode = mode;
	s->uid = uid;
	s->gid = gid;
}

static void add_file(struct plan *plan, const char *path, const char *content)
{
	struct step *s = add(plan, STEP_FILE);

	s->target = at_root(plan, path);
	s->text = copy(plan, content);
	s->mode = 0644;
}

static void add_link(struct plan *plan, const char *path, const char *to)
{
	struct step *s = add(plan, STEP_LINK);

	s->target = at_root(plan, path);
	s->source = copy(plan, to);
}

static void add_bind(struct plan *plan, const char *source, const char *path)
{
	struct step *s = add(plan, STEP_BIND);

	s->source = copy(plan, source);
	s->target = at_root(plan, path);
}

static void add_text_step(struct plan *plan, enum step_kind kind, const char *path,
			  const char *text)
{
	struct step *s = add(plan, kind);

	s->target = path ? at_root(plan, path) : NULL;
	s->text = text ? copy(plan, text) : NULL;
}

/* Folders from the one below `from` down to path; root itself exists. */
static void add_folders_down_to(struct plan *plan, const char *path, size_t from, uint32_t uid,
				uint32_t gid)
{
	char part[PATH_MAX];

	for (size_t i = from + 1; path[i - 1] != '\0' && i < sizeof(part); i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		add_owned_folder(plan, part, 0755, uid, gid);
	}
}

/* ---- the read-only part ---- */

/* What the host has at path: bound, or linked the same way where the host has a link. */
static void show_host(struct plan *plan, const char *path)
{
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return;
	if (S_ISLNK(st.st_mode)) {
		n = readlink(path, link, sizeof(link) - 1);
		if (n > 0) {
			link[n] = '\0';
			add_link(plan, path, link);
		}
		return;
	}
	if (S_ISDIR(st.st_mode))
		add_folder(plan, path, 0755);
	else
		add_file(plan, path, "");
	add_bind(plan, path, path);
}

static void add_usr(struct plan *plan)
{
	static const char *const paths[] = {"/usr",   "/bin",	"/sbin",  "/lib",
					    "/lib32", "/lib64", "/libx32"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		show_host(plan, paths[i]);
}

/*
 * What tool chains read below /etc: nothing that tells who or where the host is, and no hook that
 * an administrator has for the host's own programs (sitecustomize of Python and of Perl).
 */
static const char *const etc_shown[] = {
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/fonts",	"/etc/java*",
	"/etc/R",	     "/etc/localtime",	 "/etc/matplotlibrc", "/etc/mime.types", "/etc/protocols",
	"/etc/services",     "/etc/os-release",	 "/etc/ssl/certs",  "/etc/ssl/openssl.cnf",
};

static void show_glob(struct plan *plan, const char *pattern)
{
	glob_t found;

	if (strchr(pattern, '*') == NULL) {
		show_host(plan, pattern);
		return;
	}
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		show_host(plan, found.gl_pathv[i]);
	globfree(&found);
}

/* Files of /etc that are always ours; PASSWD and GROUP have the sandbox's user in them. */
static const char *const etc_own[IMAGE_ETC_COUNT] = {
	[IMAGE_ETC_HOSTS] = "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
	[IMAGE_ETC_HOSTNAME] = "sandbox\n",
	[IMAGE_ETC_NSSWITCH] = "passwd: files\ngroup: files\nhosts: files dns\n",
	[IMAGE_ETC_RESOLV] = "",
};

/* One of them in this folder. */
static void add_own_file(struct plan *plan, const struct sbx_spec *spec, const char *folder,
			 enum image_etc which)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%s/%s", folder, image_etc_names[which]);
	if (which == IMAGE_ETC_PASSWD)
		snprintf(text, sizeof(text),
			 "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
			 "sandbox:x:%u:%u:sandbox:/home/sandbox:/bin/sh\n"
			 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			 spec->uid, spec->gid);
	else if (which == IMAGE_ETC_GROUP)
		snprintf(text, sizeof(text), "root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n",
			 spec->gid);
	else
		snprintf(text, sizeof(text), "%s", etc_own[which]);
	add_file(plan, path, text);
}

static void add_made_up_etc(struct plan *plan, const struct sbx_spec *spec)
{
	add_folder(plan, "/etc", 0755);
	for (int i = 0; i < IMAGE_ETC_COUNT; i++)
		add_own_file(plan, spec, "/etc", (enum image_etc)i);
}

static void add_etc(struct plan *plan, const struct sbx_spec *spec)
{
	add_made_up_etc(plan, spec);
	add_folder(plan, "/etc/ssl", 0755);
	for (size_t i = 0; i < sizeof(etc_shown) / sizeof(etc_shown[0]); i++)
		show_glob(plan, etc_shown[i]);
}

/* ---- the read-only part, of an image ---- */

static void take_image(struct plan *plan, const struct sbx_spec *spec, const struct image *image)
{
	for (size_t i = 0; i < image->count; i++) {
		struct step *s;

		if (image->entries[i].kind == IMAGE_LINK)
			continue;
		s = add(plan, STEP_TAKE);
		s->source = join(plan, spec->root, image->entries[i].path);
		s->number = SBX_MOUNTS_MAX + i;
	}
}

static void show_entry(struct plan *plan, const struct image *image, size_t i)
{
	const struct image_entry *e = &image->entries[i];
	struct step *s;

	if (e->kind == IMAGE_LINK) {
		add_link(plan, e->path, e->link);
		return;
	}
	if (e->kind == IMAGE_FOLDER)
		add_folder(plan, e->path, 0755);
	else
		add_file(plan, e->path, "");
	s = add(plan, STEP_ATTACH);
	s->number = SBX_MOUNTS_MAX + i;
	s->source = copy(plan, e->path);
	s->target = at_root(plan, e->path);
	s->flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
}

/*
 * Our files are shown over those that the image has: nothing can be made in it. Until then they lie
 * where the sandbox's home will hide them.
 */
static void hide_etc(struct plan *plan, const struct sbx_spec *spec, const struct image *image)
{
	char from[96], to[64];

	for (int i = 0; i < IMAGE_ETC_COUNT; i++) {
		if ((image->etc & 1u << i) == 0)
			continue;
		add_own_file(plan, spec, "/home/sandbox", (enum image_etc)i);
		snprintf(from, sizeof(from), PLAN_ROOT "/home/sandbox/%s", image_etc_names[i]);
		snprintf(to, sizeof(to), "/etc/%s", image_etc_names[i]);
		add_bind(plan, from, to);
	}
}

static void add_image(struct plan *plan, const struct sbx_spec *spec, const struct image *image)
{
	static const char *const ours[] = {"/home", "/home/sandbox", "/opt"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		add_folder(plan, ours[i], 0755);
	for (size_t i = 0; i < image->count; i++)
		show_entry(plan, image, i);
	if (image_shows(image, "/etc") != NULL)
		hide_etc(plan, spec, image);
	else
		add_made_up_etc(plan, spec);
}

/* ---- devices and folders of our own ---- */

static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
				      "/dev/random", "/dev/urandom", "/dev/tty"};

static void add_mount_points(struct plan *plan, const struct image *image)
{
	static const char *const folders[] = {"/proc", "/dev", "/dev/pts", "/dev/shm", "/sandbox",
					      "/tmp",  "/home", "/home/sandbox", "/run"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		add_folder(plan, folders[i], 0755);
	if (image_shows(image, "/var") == NULL) {
		add_folder(plan, "/var", 0755);
		add_link(plan, "/var/tmp", "/tmp");
	}
	add_link(plan, "/dev/ptmx", "pts/ptmx");
	add_link(plan, "/dev/fd", "/proc/self/fd");
	add_link(plan, "/dev/stdin", "/proc/self/fd/0");
	add_link(plan, "/dev/stdout", "/proc/self/fd/1");
	add_link(plan, "/dev/stderr", "/proc/self/fd/2");
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		add_file(plan, devices[i], "");
}

/* ---- kernel file systems ---- */

/* Told apart only by the host's kernel, and nothing that a program needs. */
static const char *const proc_masked[] = {
	"/proc/acpi",	   "/proc/asound",	"/proc/cmdline",   "/proc/interrupts", "/proc/kallsyms",
	"/proc/kcore",	   "/proc/key-users",	"/proc/keys",	   "/proc/kmsg",
	"/proc/latency_stats", "/proc/modules", "/proc/sched_debug", "/proc/scsi",
	"/proc/sysrq-trigger", "/proc/timer_list",
};

static void add_proc(struct plan *plan)
{
	struct step *s;

	add_text_step(plan, STEP_PROC, "/proc", "hidepid=invisible");
	for (size_t i = 0; i < sizeof(proc_masked) / sizeof(proc_masked[0]); i++) {
		struct stat st;

		/* What only the host's root may read, nobody inside can. */
		if (stat(proc_masked[i], &st) < 0 || (st.st_mode & 0004) == 0)
			continue;
		/* /run inside is an empty read-only folder: it hides a folder as null hides a file. */
		add_bind(plan, S_ISDIR(st.st_mode) ? PLAN_ROOT "/run" : "/dev/null", proc_masked[i]);
	}
	add_bind(plan, PLAN_ROOT "/proc/sys", "/proc/sys");
	s = add(plan, STEP_SEAL);
	s->target = at_root(plan, "/proc/sys");
	s->flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
}

static void add_devices(struct plan *plan)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		add_bind(plan, devices[i], devices[i]);
	add_text_step(plan, STEP_DEVPTS, "/dev/pts", "newinstance,ptmxmode=0666,mode=0620");
}

/* ---- what may be written ---- */

struct scratch {
	const char *in;	 /* folder in the scratch file system */
	const char *path; /* where it is shown */
	uint32_t mode;
};

/* /sandbox comes last: it hides the scratch file system's own root, which is mounted there. */
static const struct scratch scratches[] = {
	{"/sandbox/tmp", "/tmp", 01777},
	{"/sandbox/home", "/home/sandbox", 0755},
	{"/sandbox/shm", "/dev/shm", 01777},
	{"/sandbox/sandbox", "/sandbox", 0755},
};

static bool is_scratch(const char *path)
{
	for (size_t i = 0; i < sizeof(scratches) / sizeof(scratches[0]); i++) {
		if (sbx_path_is_below(path, scratches[i].path))
			return true;
	}
	return false;
}

static void add_writable(struct plan *plan, const char *path)
{
	plan->writable[plan->writable_count++] = copy(plan, path);
}

/* One sized file system for all writable folders, so that the limit is of their sum. */
static void add_scratch(struct plan *plan, const struct sbx_spec *spec)
{
	unsigned long long bytes = spec->limits[SBX_LIMIT_DISK_BYTES];
	char options[128];

	snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=0755", bytes,
		 bytes / 4096 + 1024);
	add_text_step(plan, STEP_TMPFS, "/sandbox", options);
	for (size_t i = 0; i < sizeof(scratches) / sizeof(scratches[0]); i++)
		add_owned_folder(plan, scratches[i].in, scratches[i].mode, spec->uid, spec->gid);
	for (size_t i = 0; i < sizeof(scratches) / sizeof(scratches[0]); i++) {
		char from[64];

		snprintf(from, sizeof(from), PLAN_ROOT "%s", scratches[i].in);
		add_bind(plan, from, scratches[i].path);
		add_writable(plan, scratches[i].path);
	}
}

/* ---- the user's mounts ---- */

static void take_mounts(struct plan *plan, const struct sbx_spec *spec)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		struct step *s = add(plan, STEP_TAKE);

		s->source = copy(plan, spec->mounts[i].host);
		s->number = i;
	}
}

/* The place where a mount goes: a folder or an empty file, and its parents. */
static void add_mount_point(struct plan *plan, const struct sbx_spec *spec,
			    const struct sbx_mount *m)
{
	bool in_scratch = is_scratch(m->inside);
	uint32_t uid = in_scratch ? spec->uid : 0, gid = in_scratch ? spec->gid : 0;
	char parent[PATH_MAX];
	struct stat st;

	if (stat(m->host, &st) == 0 && S_ISDIR(st.st_mode)) {
		add_folders_down_to(plan, m->inside, 0, uid, gid);
		return;
	}
	snprintf(parent, sizeof(parent), "%s", m->inside);
	*strrchr(parent, '/') = '\0';
	if (parent[0] != '\0')
		add_folders_down_to(plan, parent, 0, uid, gid);
	add_file(plan, m->inside, "");
}

static void attach_mount(struct plan *plan, const struct sbx_mount *m, size_t number)
{
	struct step *s = add(plan, STEP_ATTACH);

	s->number = number;
	s->source = copy(plan, m->host);
	s->target = at_root(plan, m->inside);
	s->flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (m->writable ? 0 : MOUNT_ATTR_RDONLY);
	if (m->writable)
		add_writable(plan, m->inside);
}

static void add_mounts(struct plan *plan, const struct sbx_spec *spec, bool in_scratch)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		if (is_scratch(spec->mounts[i].inside) != in_scratch)
			continue;
		if (in_scratch)
			add_mount_point(plan, spec, &spec->mounts[i]);
		attach_mount(plan, &spec->mounts[i], i);
	}
}

/* In what an image shows nothing can be made. */
static int add_outer_mount_points(struct plan *plan, const struct sbx_spec *spec,
				  const struct image *image, struct sbx_error *err)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct sbx_mount *m = &spec->mounts[i];
		int r = 0;

		if (is_scratch(m->inside))
			continue;
		if (image_shows(image, m->inside) != NULL)
			r = image_check_mount(image, m, err);
		else
			add_mount_point(plan, spec, m);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the whole ---- */

static void add_seal(struct plan *plan)
{
	struct step *s = add(plan, STEP_SEAL);

	s->target = at_root(plan, "");
	s->flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
}

int plan_new(struct plan **ret, struct sbx_error *err)
{
	void *memory = mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return sbx_fail_errno(err, errno, "cannot make the plan");
	*ret = memory;
	return 0;
}

void plan_free(struct plan *plan)
{
	if (plan != NULL)
		munmap(plan, sizeof(*plan));
}

static int make_steps(struct plan *plan, const struct sbx_spec *spec, const struct image *image,
		      struct sbx_error *err)
{
	int r;

	add_text_step(plan, STEP_PRIVATE, NULL, NULL);
	take_mounts(plan, spec);
	take_image(plan, spec, image);
	add_text_step(plan, STEP_TMPFS, "", "size=4m,nr_inodes=4096,mode=0755");
	if (spec->root != NULL) {
		add_image(plan, spec, image);
	} else {
		add_usr(plan);
		add_etc(plan, spec);
	}
	add_mount_points(plan, image);
	r = add_outer_mount_points(plan, spec, image, err);
	if (r < 0)
		return r;
	add_seal(plan);
	add_proc(plan);
	add_devices(plan);
	add_scratch(plan, spec);
	add_mounts(plan, spec, false);
	add_mounts(plan, spec, true);
	if (is_scratch(spec->workdir) && strcmp(spec->workdir, "/sandbox") != 0)
		add_folders_down_to(plan, spec->workdir, 0, spec->uid, spec->gid);
	add_text_step(plan, STEP_HOSTNAME, NULL, "sandbox");
	add_text_step(plan, STEP_PIVOT, "", NULL);

	if (plan->failed)
		return sbx_fail(err, SBX_E_LIMIT,
				"the sandbox needs more than %d steps or %u KiB of paths",
				PLAN_STEPS_MAX, PLAN_TEXT_MAX >> 10);
	return 0;
}

int plan_make(struct plan *plan, const struct sbx_spec *spec, struct sbx_error *err)
{
	struct image *image = NULL;
	int r = spec->root != NULL ? image_look(spec->root, &image, err) : 0;

	if (r == 0)
		r = make_steps(plan, spec, image ? image : &image_none, err);
	image_free(image);
	return r;
}

/* ---- printing ---- */

static const char *const step_names[STEP_KIND_COUNT] = {
	[STEP_PRIVATE] = "private",   [STEP_TAKE] = "take",   [STEP_TMPFS] = "tmpfs",
	[STEP_FOLDER] = "folder",     [STEP_FILE] = "file",   [STEP_LINK] = "link",
	[STEP_BIND] = "bind",	      [STEP_ATTACH] = "attach", [STEP_SEAL] = "seal",
	[STEP_PROC] = "proc",	      [STEP_DEVPTS] = "devpts", [STEP_HOSTNAME] = "hostname",
	[STEP_PIVOT] = "pivot",
};

static void describe_flags(uint64_t flags, struct sbx_buf *out)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} names[] = {{MOUNT_ATTR_RDONLY, "ro"},
		     {MOUNT_ATTR_NOSUID, "nosuid"},
		     {MOUNT_ATTR_NODEV, "nodev"},
		     {MOUNT_ATTR_NOEXEC, "noexec"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (flags & names[i].flag)
			sbx_buf_printf(out, " %s", names[i].name);
	}
}

/* The path as it will be inside: without PLAN_ROOT. */
static const char *inside(const char *target)
{
	const char *path = target + strlen(PLAN_ROOT);

	return *path == '\0' ? "/" : path;
}

void plan_describe(const struct step *s, struct sbx_buf *out)
{
	sbx_buf_puts(out, step_names[s->kind]);
	if (s->source != NULL)
		sbx_buf_printf(out, " %s", s->source);
	if (s->target != NULL)
		sbx_buf_printf(out, "%s%s", s->source ? " at " : " ", inside(s->target));
	if (s->text != NULL && s->kind == STEP_FILE)
		sbx_buf_printf(out, " %zu bytes", strlen(s->text));
	else if (s->text != NULL)
		sbx_buf_printf(out, " %s", s->text);
	if (s->kind == STEP_FOLDER)
		sbx_buf_printf(out, " %04o %u:%u", s->mode, s->uid, s->gid);
	describe_flags(s->flags, out);
}

void plan_print(const struct plan *plan, struct sbx_buf *out)
{
	for (size_t i = 0; i < plan->count; i++) {
		plan_describe(&plan->steps[i], out);
		sbx_buf_puts(out, "\n");
	}
}
