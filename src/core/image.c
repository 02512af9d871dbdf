/* SPDX-License-Identifier: MIT */
/* Images: made and brought in; image_list.c lists and removes them. */
#include <llmsandbox/image.h>

#include "backend/backend.h"
#include "base/auto.h"
#include "base/io.h"
#include "base/strv.h"
#include "core/cancel.h"
#include "core/container.h"
#include "core/image_debstrap.h"
#include "core/image_keeper.h"
#include "core/image_pack.h"
#include "core/image_recipe.h"
#include "core/image_store.h"
#include "core/image_unpack.h"
#include "lang/lang.h"

#include <llmsandbox/language.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define MOST_BYTES  (16ull << 30)
#define SAY_BYTES   (64ull << 20)

/* An archive on its way to an engine. */
struct packed {
	int fd;
	struct sbx_cancel *cancel;
};

/* ---- progress ---- */

__attribute__((format(printf, 2, 3))) static void say(const struct sbx_image_make *how,
						      const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (how->on_progress == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	how->on_progress(line, how->userdata);
}

/* ---- what tool chains it has ---- */

int sbx_image_check(const char *image, struct sbx_error *err)
{
	auto_free char *root = NULL;
	struct sbx_error lent;

	return sbx_image_find_root(image, &root, err ? err : &lent);
}

static int take_tool(struct sbx_image *image, const struct sbx_tool_chain *found, struct sbx_error *err)
{
	struct sbx_image_tool *t = &image->tools[image->tool_count++];

	t->language = strdup(found->info->id);
	t->version = strdup(found->version);
	if (t->language == NULL || t->version == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe an image");
	return 0;
}

/* Of a folder that is there for nobody else yet. */
static int find_tools(const char *root, char *const *env, struct sbx_tool_chain **ret,
		      size_t *ret_count)
{
	struct sbx_spec *spec = NULL;
	struct sbx_error ignored;
	int r = sbx_spec_new(&spec, &ignored);

	if (r < 0)
		return r;
	r = sbx_spec_set_image(spec, root, &ignored);
	for (; r == 0 && env != NULL && *env != NULL; env++)
		r = sbx_spec_add_env(spec, *env, &ignored);
	if (r == 0)
		r = sbx_spec_find_languages(spec, NULL, ret, ret_count, &ignored);
	sbx_spec_free(spec);
	return r;
}

/* What can be asked on this machine; nothing is missing without it. */
static int add_tools(struct sbx_image *image, const char *root, char *const *env,
		     struct sbx_error *err)
{
	struct sbx_tool_chain *found = NULL;
	size_t count = 0;
	int r = 0;

	if (find_tools(root, env, &found, &count) < 0)
		return 0;
	image->tools = calloc(count + 1, sizeof(*image->tools));
	if (image->tools == NULL)
		r = sbx_fail_errno(err, ENOMEM, "cannot describe an image");
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (found[i].version != NULL)
			r = take_tool(image, &found[i], err);
	}
	sbx_tool_chains_free(found, count);
	return r;
}

/* ---- making one ---- */

/* What fills the root: an archive, a folder, or mmdebstrap. */
struct making {
	const struct sbx_image_make *how;
	const char *name, *source;
	int (*fill)(struct making *m, const struct sbx_image_unpack *unpack, struct sbx_error *err);
	const char *from; /* file or folder */
	const struct sbx_image_recipe *recipe;
	const struct sbx_backend_images *images; /* who gets it; NULL: it is kept */
	const struct sbx_backend_images *owner;	 /* who has it; NULL: it is no engine's */
	char **env; /* what it sets for programs; owned, or NULL */
	struct sbx_image_report report;
};

static int describe(const struct making *m, const char *root, struct sbx_image **ret,
		    struct sbx_error *err)
{
	struct sbx_image *image = sbx_image_new(m->name, "native", m->source);
	int r;

	if (image == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe an image");
	image->bytes = m->report.bytes;
	image->made = (uint64_t)time(NULL);
	say(m->how, "asking for the versions of its tool chains");
	r = add_tools(image, root, m->env, err);
	if (r < 0)
		sbx_image_free(image);
	else
		*ret = image;
	return r;
}

static int fill(struct making *m, int root_fd, struct sbx_error *err)
{
	struct sbx_image_unpack unpack = {
		.root_fd = root_fd,
		.most_bytes = m->how->most_bytes ? m->how->most_bytes : MOST_BYTES,
		.cancel = m->how->cancel,
	};
	int r = m->fill(m, &unpack, err);

	return r < 0 ? r : sbx_image_complete(root_fd, err);
}

/* ---- for an engine ---- */

static ssize_t read_packed(void *data, size_t len, void *userdata)
{
	const struct packed *p = userdata;
	ssize_t n;

	if (sbx_cancel_is_killed(p->cancel))
		return -1;
	do
		n = read(p->fd, data, len);
	while (n < 0 && errno == EINTR);
	return n;
}

static void write_tools(const struct sbx_image *image, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < image->tool_count && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s-%s", i > 0 ? " " : "",
					image->tools[i].language, image->tools[i].version);
}

static int send(const struct making *m, struct packed *p, struct sbx_image *image,
		struct sbx_error *err)
{
	off_t end = lseek(p->fd, 0, SEEK_CUR);
	char tools[512];
	struct sbx_backend_import import = {
		.name = m->name, .tools = tools, .env = (const char *const *)m->env,
		.bytes = (uint64_t)end, .read = read_packed, .userdata = p};
	int r;

	write_tools(image, tools, sizeof(tools));
	if (end < 0 || lseek(p->fd, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, errno, "cannot read the packed image");
	say(m->how, "bringing %llu MiB into %s", (unsigned long long)end >> 20, m->how->backend);
	r = m->images->import(&import, err);
	if (r < 0 && sbx_cancel_is_killed(m->how->cancel))
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "the making of the image was cancelled");
	return r;
}

/* What the engine calls it, and where it is. */
static int rename_image(const struct making *m, struct sbx_image *image, struct sbx_error *err)
{
	char *name = NULL, *where = strdup(m->how->backend);

	if (where == NULL || asprintf(&name, "llm-sandbox/%s:latest", m->name) < 0) {
		free(where);
		return sbx_fail_errno(err, ENOMEM, "cannot describe an image");
	}
	free(image->name);
	free(image->where);
	image->name = name;
	image->where = where;
	return 0;
}

static int give_away(const struct making *m, const struct sbx_image_store *store, const char *root,
		     struct sbx_image *image, struct sbx_error *err)
{
	auto_close int fd = openat(store->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct packed packed = {fd, m->how->cancel};
	int r;

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot make a file among the images");
	say(m->how, "packing it");
	r = sbx_image_pack(root, fd, m->how->cancel, err);
	if (r == 0)
		r = send(m, &packed, image, err);
	return r < 0 ? r : rename_image(m, image, err);
}

/* Under the lock. */
static int make_staged(struct making *m, const struct sbx_image_store *store, struct sbx_image **ret,
		       struct sbx_error *err)
{
	auto_close int root_fd = -1;
	struct sbx_image *image = NULL;
	char root[PATH_MAX];
	int r = sbx_image_stage(store, m->name, &root_fd, err);

	if (r == 0)
		r = fill(m, root_fd, err);
	if (r < 0)
		return r;
	snprintf(root, sizeof(root), "%.3900s/.new-%.64s/root", store->path, m->name);
	r = describe(m, root, &image, err);
	if (r == 0 && m->images != NULL) {
		r = give_away(m, store, root, image, err);
		if (r == 0)
			*ret = take_ptr(image);
		sbx_image_free(image);
		return r;
	}
	if (r == 0 && sbx_cancel_is_killed(m->how->cancel))
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "the making of the image was cancelled");
	if (r == 0)
		r = sbx_image_publish(store, image, m->env, err);
	sbx_image_free(image);
	return r < 0 ? r : sbx_image_read(store, m->name, ret, err);
}

static int make(struct making *m, struct sbx_image **ret, struct sbx_error *err)
{
	auto_close int lock_fd = -1;
	struct sbx_image *image = NULL;
	struct sbx_image_store store;
	int r = sbx_image_check_name(m->name, err);

	if (r == 0)
		r = sbx_image_store_open(&store, err);
	if (r < 0)
		return r;
	r = sbx_image_lock(&store, m->name, &lock_fd, err);
	if (r == 0) {
		r = make_staged(m, &store, &image, err);
		sbx_image_unstage(&store, m->name);
	}
	sbx_image_store_close(&store);
	sbx_strv_free(m->env);
	m->env = NULL;
	if (ret != NULL)
		*ret = image;
	else
		sbx_image_free(image);
	return r;
}

/* ---- build ---- */

static int fill_by_debstrap(struct making *m, const struct sbx_image_unpack *unpack,
			    struct sbx_error *err)
{
	struct sbx_debstrap *d;
	int r = sbx_debstrap_start(m->recipe, m->how, &d, err);

	if (r < 0)
		return r;
	r = sbx_image_unpack_tar(unpack, sbx_debstrap_read, d, &m->report, err);
	return sbx_debstrap_end(d, r, err);
}

static int find_recipe(const char *language, const struct sbx_image_recipe **ret,
		       struct sbx_error *err)
{
	const struct sbx_lang *lang = sbx_lang_find(language);

	for (const struct sbx_image_recipe *r = sbx_image_recipes; lang != NULL && r->language != NULL; r++) {
		if (strcmp(r->language, lang->info.id) == 0) {
			*ret = r;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"there is no language '%.64s' to make an image for; 'llm-sandbox languages' lists them",
			language);
}

int sbx_image_build(const char *language, const struct sbx_image_make *how, struct sbx_image **ret,
		    struct sbx_error *err)
{
	struct making m = {.how = how, .source = "mmdebstrap", .fill = fill_by_debstrap};
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = find_recipe(language, &m.recipe, err);
	if (r == 0)
		r = sbx_image_find_keeper(how->backend, &m.images, err);
	if (r < 0)
		return r;
	m.name = how->name ? how->name : m.recipe->language;
	r = make(&m, ret, err);
	return r < 0 ? sbx_wrap(err, "cannot make the image '%.64s'", m.name) : 0;
}

/* ---- import ---- */

static ssize_t read_file(void *data, size_t len, void *userdata, struct sbx_error *err)
{
	ssize_t n;

	do
		n = read(*(const int *)userdata, data, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		sbx_fail_errno(err, errno, "cannot read the archive");
	return n;
}

static int fill_from_archive(struct making *m, const struct sbx_image_unpack *unpack,
			     struct sbx_error *err)
{
	auto_close int fd = open(m->from, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open '%.200s'", m->from);
	return sbx_image_unpack_tar(unpack, read_file, &fd, &m->report, err);
}

static int fill_from_folder(struct making *m, const struct sbx_image_unpack *unpack,
			    struct sbx_error *err)
{
	auto_free char *folder = NULL;
	auto_free char *named = NULL;
	int r;

	/* Whatever it is called, here it is a folder. */
	if (asprintf(&named, "%s%s", m->from[0] == '/' ? "" : "./", m->from) < 0)
		return sbx_fail_errno(err, ENOMEM, "cannot name a folder");
	r = sbx_image_find_root(named, &folder, err);
	return r < 0 ? r : sbx_image_unpack_folder(unpack, folder, &m->report, err);
}

/* ---- import, of what a backend has ---- */

/* The files of an engine's image on their way into a file of ours. */
struct exported {
	const struct making *m;
	int fd;
	uint64_t bytes, most, said;
};

static int write_exported(const void *data, size_t len, void *userdata, struct sbx_error *err)
{
	struct exported *x = userdata;
	int r;

	if (sbx_cancel_is_killed(x->m->how->cancel))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the making of the image was cancelled");
	x->bytes += len;
	if (x->bytes > x->most)
		return sbx_fail(err, SBX_E_LIMIT, "the image is larger than %llu MiB",
				(unsigned long long)x->most >> 20);
	r = sbx_write_all(x->fd, data, len);
	if (r < 0)
		return sbx_fail(err, r == -ENOSPC ? SBX_E_LIMIT : SBX_E_SYSTEM,
				"cannot keep what the image has: %s", strerror(-r));
	if (x->bytes - x->said >= SAY_BYTES) {
		x->said = x->bytes;
		say(x->m->how, "%llu MiB", (unsigned long long)x->bytes >> 20);
	}
	return 0;
}

static int fill_from_engine(struct making *m, const struct sbx_image_unpack *unpack,
			    struct sbx_error *err)
{
	auto_close int fd = openat(unpack->root_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	/* Headers and padding are of the archive alone. */
	struct exported x = {.m = m, .fd = fd, .most = unpack->most_bytes + unpack->most_bytes / 4 + (64u << 20)};
	struct sbx_backend_export export = {.image = m->from, .write = write_exported, .userdata = &x};
	int r;

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot make a file among the images");
	say(m->how, "taking '%.200s' out of %s", m->from, m->source);
	r = m->owner->export(&export, &m->env, err);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = sbx_fail_errno(err, errno, "cannot read what the image has");
	say(m->how, "unpacking %llu MiB", (unsigned long long)x.bytes >> 20);
	return r < 0 ? r : sbx_image_unpack_tar(unpack, read_file, &fd, &m->report, err);
}

static int fill_from_image(struct making *m, const struct sbx_image_unpack *unpack,
			   struct sbx_error *err)
{
	auto_free char *root = NULL;
	auto_close int fd = -1;
	int r = sbx_image_use(m->from, &root, &fd, err);

	if (r == 0)
		r = sbx_image_find_env(m->from, NULL, &m->env, err);
	return r < 0 ? r : sbx_image_unpack_folder(unpack, root, &m->report, err);
}

/* "docker:python:3-slim" is an image that a backend has: true, and m says which. */
static bool is_of_backend(struct making *m, const char *from)
{
	static const char *const backends[] = {"native", "docker", "podman"};

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		size_t len = strlen(backends[i]);
		const struct sbx_backend *backend = sbx_backend_find(backends[i]);

		if (strncmp(from, backends[i], len) != 0 || from[len] != ':' || backend == NULL)
			continue;
		m->owner = sbx_backend_images(backend);
		m->fill = m->owner ? fill_from_engine : fill_from_image;
		m->from = from + len + 1;
		m->source = backends[i];
		return true;
	}
	return false;
}

static int look_at_source(struct making *m, const char *from, struct sbx_error *err)
{
	struct stat st;

	if (is_of_backend(m, from))
		return m->owner ? sbx_image_check_foreign(m->from, err) : sbx_image_check(m->from, err);
	if (stat(from, &st) < 0)
		return sbx_fail(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_INVALID,
				"%s; an image that an engine has is docker:IMAGE or podman:IMAGE", strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		m->source = "folder";
		m->fill = fill_from_folder;
	}
	return 0;
}

int sbx_image_import(const char *from, const struct sbx_image_make *how, struct sbx_image **ret,
		     struct sbx_image_report *ret_report, struct sbx_error *err)
{
	struct making m = {.how = how, .name = how->name, .source = "tar", .fill = fill_from_archive,
			   .from = from};
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	if (how->name == NULL)
		return sbx_fail(err, SBX_E_INVALID, "an image that is imported needs a name");
	r = look_at_source(&m, from, err);
	if (r == 0)
		r = sbx_image_find_keeper(how->backend, &m.images, err);
	if (r == 0)
		r = make(&m, ret, err);
	if (r < 0)
		return sbx_wrap(err, "cannot import '%.200s'", from);
	if (ret_report != NULL)
		*ret_report = m.report;
	return 0;
}
