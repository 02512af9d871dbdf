/* SPDX-License-Identifier: MIT */
#include "wire/message.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/path.h"
#include "base/strv.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists of strings ---- */

static void strings_format(struct sbx_buf *b, char *const *list)
{
	uint32_t count = (uint32_t)sbx_strv_len(list);

	wire_put_u32(b, count);
	for (uint32_t i = 0; i < count; i++)
		wire_put_cstring(b, list[i]);
}

/* A list of its own that sbx_strv_free() takes; NULL and bad when it is not well-formed. */
static char **strings_parse(struct wire_reader *r)
{
	uint32_t count = wire_get_u32(r);
	char **list;

	/* Each string takes four bytes at least, so no count can make us allocate much. */
	if (r->bad || count > WIRE_STRINGS_MAX || count > r->left / 4) {
		r->bad = true;
		return NULL;
	}
	list = calloc((size_t)count + 1, sizeof(*list));
	if (list == NULL) {
		r->bad = true;
		return NULL;
	}
	for (uint32_t i = 0; i < count && !r->bad; i++)
		list[i] = wire_get_cstring(r);
	return list;
}

/* ---- HELLO ---- */

void wire_hello_format(struct sbx_buf *b, const struct wire_hello *m)
{
	wire_put_u32(b, m->version);
	wire_put_u32(b, m->pid);
	wire_put_u32(b, m->uid);
}

bool wire_hello_parse(const void *payload, size_t len, struct wire_hello *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->version = wire_get_u32(&r);
	ret->pid = wire_get_u32(&r);
	ret->uid = wire_get_u32(&r);
	return wire_reader_end(&r);
}

/* ---- SETUP ---- */

void wire_setup_format(struct sbx_buf *b, const struct wire_setup *m)
{
	wire_put_u32(b, m->fences);
	wire_put_u32(b, m->uid);
	wire_put_u32(b, m->gid);
	wire_put_u64(b, m->life_ms);
	wire_put_cstring(b, m->workdir);
	wire_put_u32(b, (uint32_t)m->writable_count);
	for (size_t i = 0; i < m->writable_count; i++)
		wire_put_cstring(b, m->writable[i]);
	wire_put_u32(b, (uint32_t)m->rlimit_count);
	for (size_t i = 0; i < m->rlimit_count; i++) {
		wire_put_u32(b, m->rlimits[i].resource);
		wire_put_u64(b, m->rlimits[i].value);
	}
}

static void setup_lists_parse(struct wire_reader *r, struct wire_setup *ret)
{
	uint32_t count = wire_get_u32(r);

	if (count > WIRE_WRITABLE_MAX)
		r->bad = true;
	for (uint32_t i = 0; i < count && !r->bad; i++) {
		ret->writable[i] = wire_get_cstring(r);
		ret->writable_count = i + 1;
	}

	count = wire_get_u32(r);
	if (count > WIRE_RLIMITS_MAX)
		r->bad = true;
	for (uint32_t i = 0; i < count && !r->bad; i++) {
		ret->rlimits[i].resource = wire_get_u32(r);
		ret->rlimits[i].value = wire_get_u64(r);
		ret->rlimit_count = i + 1;
	}
}

bool wire_setup_parse(const void *payload, size_t len, struct wire_setup *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	*ret = (struct wire_setup){0};
	ret->fences = wire_get_u32(&r);
	ret->uid = wire_get_u32(&r);
	ret->gid = wire_get_u32(&r);
	ret->life_ms = wire_get_u64(&r);
	ret->workdir = wire_get_cstring(&r);
	setup_lists_parse(&r, ret);
	if (wire_reader_end(&r))
		return true;
	wire_setup_done(ret);
	return false;
}

void wire_setup_done(struct wire_setup *m)
{
	free(m->workdir);
	for (size_t i = 0; i < m->writable_count; i++)
		free(m->writable[i]);
	*m = (struct wire_setup){0};
}

/* ---- READY ---- */

static void surroundings_format(struct sbx_buf *b, const struct wire_surroundings *m)
{
	wire_put_u8(b, m->known);
	wire_put_u8(b, m->seccomp);
	wire_put_u8(b, m->read_only_root);
	wire_put_u64(b, m->memory_bytes);
	wire_put_u64(b, m->processes);
	wire_put_u64(b, m->cpu_milli);
	wire_put_u64(b, m->disk_bytes);
	wire_put_u64(b, m->capabilities);
	wire_put_u32(b, m->interfaces);
	wire_put_u32(b, m->host_uid);
}

static void surroundings_parse(struct wire_reader *r, struct wire_surroundings *ret)
{
	ret->known = wire_get_u8(r) != 0;
	ret->seccomp = wire_get_u8(r) != 0;
	ret->read_only_root = wire_get_u8(r) != 0;
	ret->memory_bytes = wire_get_u64(r);
	ret->processes = wire_get_u64(r);
	ret->cpu_milli = wire_get_u64(r);
	ret->disk_bytes = wire_get_u64(r);
	ret->capabilities = wire_get_u64(r);
	ret->interfaces = wire_get_u32(r);
	ret->host_uid = wire_get_u32(r);
}

void wire_ready_format(struct sbx_buf *b, const struct wire_ready *m)
{
	for (int i = 0; i < WIRE_FENCE_COUNT; i++)
		wire_put_u32(b, m->fence_errno[i]);
	wire_put_cstring(b, m->kernel);
	surroundings_format(b, &m->surroundings);
}

bool wire_ready_parse(const void *payload, size_t len, struct wire_ready *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);
	struct wire_string kernel;

	*ret = (struct wire_ready){0};
	for (int i = 0; i < WIRE_FENCE_COUNT; i++)
		ret->fence_errno[i] = wire_get_u32(&r);
	kernel = wire_get_string(&r);
	surroundings_parse(&r, &ret->surroundings);
	if (!wire_reader_end(&r) || kernel.len >= sizeof(ret->kernel))
		return false;
	memcpy(ret->kernel, kernel.data, kernel.len);
	return true;
}

/* ---- EXEC ---- */

void wire_exec_format(struct sbx_buf *b, const struct wire_exec *m)
{
	wire_put_u32(b, m->flags);
	wire_put_u64(b, m->wall_ms);
	wire_put_u64(b, m->cpu_ms);
	wire_put_u64(b, m->head_bytes);
	wire_put_u64(b, m->tail_bytes);
	wire_put_cstring(b, m->cwd);
	strings_format(b, m->argv);
	strings_format(b, m->env);
}

static bool has_good_flags(const struct wire_exec *m)
{
	return !(m->flags & WIRE_EXEC_CONTROL) || (m->flags & WIRE_EXEC_BACKGROUND);
}

bool wire_exec_parse(const void *payload, size_t len, struct wire_exec *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	*ret = (struct wire_exec){0};
	ret->flags = wire_get_u32(&r);
	ret->wall_ms = wire_get_u64(&r);
	ret->cpu_ms = wire_get_u64(&r);
	ret->head_bytes = wire_get_u64(&r);
	ret->tail_bytes = wire_get_u64(&r);
	ret->cwd = wire_get_cstring(&r);
	ret->argv = strings_parse(&r);
	ret->env = strings_parse(&r);
	if (wire_reader_end(&r) && ret->argv[0] != NULL && has_good_flags(ret))
		return true;
	wire_exec_done(ret);
	return false;
}

void wire_exec_done(struct wire_exec *m)
{
	free(m->cwd);
	sbx_strv_free(m->argv);
	sbx_strv_free(m->env);
	*m = (struct wire_exec){0};
}

/* ---- EXIT ---- */

void wire_exit_format(struct sbx_buf *b, const struct wire_exit *m)
{
	wire_put_u32(b, m->reason);
	wire_put_u32(b, m->status);
	wire_put_u32(b, m->killed);
	wire_put_u64(b, m->wall_ns);
	wire_put_u64(b, m->user_us);
	wire_put_u64(b, m->system_us);
	wire_put_u64(b, m->max_rss_bytes);
	wire_put_u64(b, m->read_bytes);
	wire_put_u64(b, m->write_bytes);
	for (int i = 0; i < 2; i++) {
		wire_put_u64(b, m->total[i]);
		wire_put_u64(b, m->dropped[i]);
	}
}

bool wire_exit_parse(const void *payload, size_t len, struct wire_exit *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->reason = wire_get_u32(&r);
	ret->status = wire_get_u32(&r);
	ret->killed = wire_get_u32(&r);
	ret->wall_ns = wire_get_u64(&r);
	ret->user_us = wire_get_u64(&r);
	ret->system_us = wire_get_u64(&r);
	ret->max_rss_bytes = wire_get_u64(&r);
	ret->read_bytes = wire_get_u64(&r);
	ret->write_bytes = wire_get_u64(&r);
	for (int i = 0; i < 2; i++) {
		ret->total[i] = wire_get_u64(&r);
		ret->dropped[i] = wire_get_u64(&r);
	}
	return wire_reader_end(&r) && ret->reason < WIRE_REASON_COUNT && ret->status < 256;
}

/* ---- SIGNAL, CREDIT ---- */

void wire_signal_format(struct sbx_buf *b, const struct wire_signal *m)
{
	wire_put_u32(b, m->signo);
	wire_put_u8(b, m->scope);
}

bool wire_signal_parse(const void *payload, size_t len, struct wire_signal *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->signo = wire_get_u32(&r);
	ret->scope = wire_get_u8(&r);
	return wire_reader_end(&r) && ret->signo >= 1 && ret->signo <= 64 &&
	       ret->scope <= WIRE_SCOPE_TREE;
}

void wire_credit_format(struct sbx_buf *b, const struct wire_credit *m)
{
	wire_put_u8(b, m->flow);
	wire_put_u32(b, m->bytes);
}

bool wire_credit_parse(const void *payload, size_t len, struct wire_credit *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->flow = wire_get_u8(&r);
	ret->bytes = wire_get_u32(&r);
	return wire_reader_end(&r) && ret->flow <= WIRE_FLOW_DATA;
}

/* ---- PUT, GET, LIST, STAT, REMOVE, MKDIR, HOLE, ENTRY, PONG ---- */

void wire_put_format(struct sbx_buf *b, const struct wire_put *m)
{
	wire_put_u32(b, m->mode);
	wire_put_u8(b, m->how);
	wire_put_u64(b, m->size);
	wire_put_u64(b, m->mtime_ns);
	wire_put_cstring(b, m->path);
}

bool wire_put_parse(const void *payload, size_t len, struct wire_put *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->mode = wire_get_u32(&r);
	ret->how = wire_get_u8(&r);
	ret->size = wire_get_u64(&r);
	ret->mtime_ns = wire_get_u64(&r);
	ret->path = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->mode <= 0777 && ret->how < WIRE_PUT_COUNT)
		return true;
	wire_put_done(ret);
	return false;
}

void wire_put_done(struct wire_put *m)
{
	free(m->path);
	*m = (struct wire_put){0};
}

void wire_get_format(struct sbx_buf *b, const struct wire_get *m)
{
	wire_put_u8(b, m->deep);
	wire_put_u64(b, m->offset);
	wire_put_u64(b, m->length);
	wire_put_u64(b, m->most);
	wire_put_cstring(b, m->path);
}

bool wire_get_parse(const void *payload, size_t len, struct wire_get *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->deep = wire_get_u8(&r);
	ret->offset = wire_get_u64(&r);
	ret->length = wire_get_u64(&r);
	ret->most = wire_get_u64(&r);
	ret->path = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->deep <= 1)
		return true;
	wire_get_done(ret);
	return false;
}

void wire_get_done(struct wire_get *m)
{
	free(m->path);
	*m = (struct wire_get){0};
}

void wire_list_format(struct sbx_buf *b, const struct wire_list *m)
{
	wire_put_u8(b, m->deep);
	wire_put_u64(b, m->most);
	wire_put_u64(b, m->most_seen);
	wire_put_u64(b, m->since_ns);
	wire_put_cstring(b, m->path);
}

bool wire_list_parse(const void *payload, size_t len, struct wire_list *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->deep = wire_get_u8(&r);
	ret->most = wire_get_u64(&r);
	ret->most_seen = wire_get_u64(&r);
	ret->since_ns = wire_get_u64(&r);
	ret->path = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->deep <= 1)
		return true;
	wire_list_done(ret);
	return false;
}

void wire_list_done(struct wire_list *m)
{
	free(m->path);
	*m = (struct wire_list){0};
}

void wire_path_format(struct sbx_buf *b, const struct wire_path *m)
{
	wire_put_cstring(b, m->path);
}

bool wire_path_parse(const void *payload, size_t len, struct wire_path *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->path = wire_get_cstring(&r);
	if (wire_reader_end(&r))
		return true;
	wire_path_done(ret);
	return false;
}

void wire_path_done(struct wire_path *m)
{
	free(m->path);
	*m = (struct wire_path){0};
}

void wire_remove_format(struct sbx_buf *b, const struct wire_remove *m)
{
	wire_put_u8(b, m->deep);
	wire_put_cstring(b, m->path);
}

bool wire_remove_parse(const void *payload, size_t len, struct wire_remove *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->deep = wire_get_u8(&r);
	ret->path = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->deep <= 1)
		return true;
	wire_remove_done(ret);
	return false;
}

void wire_remove_done(struct wire_remove *m)
{
	free(m->path);
	*m = (struct wire_remove){0};
}

void wire_mkdir_format(struct sbx_buf *b, const struct wire_mkdir *m)
{
	wire_put_u32(b, m->mode);
	wire_put_cstring(b, m->path);
}

bool wire_mkdir_parse(const void *payload, size_t len, struct wire_mkdir *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->mode = wire_get_u32(&r);
	ret->path = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->mode <= 0777)
		return true;
	wire_mkdir_done(ret);
	return false;
}

void wire_mkdir_done(struct wire_mkdir *m)
{
	free(m->path);
	*m = (struct wire_mkdir){0};
}

void wire_hole_format(struct sbx_buf *b, const struct wire_hole *m)
{
	wire_put_u64(b, m->bytes);
}

bool wire_hole_parse(const void *payload, size_t len, struct wire_hole *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->bytes = wire_get_u64(&r);
	return wire_reader_end(&r) && ret->bytes > 0;
}

void wire_entry_format(struct sbx_buf *b, const struct wire_entry *m)
{
	wire_put_u8(b, m->kind);
	wire_put_u32(b, m->mode);
	wire_put_u64(b, m->size);
	wire_put_u64(b, m->mtime_ns);
	wire_put_u64(b, m->ctime_ns);
	wire_put_cstring(b, m->name);
}

static bool is_kind(uint8_t kind)
{
	return kind == WIRE_FILE || kind == WIRE_FOLDER || kind == WIRE_LINK || kind == WIRE_OTHER;
}

bool wire_entry_parse(const void *payload, size_t len, struct wire_entry *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->kind = wire_get_u8(&r);
	ret->mode = wire_get_u32(&r);
	ret->size = wire_get_u64(&r);
	ret->mtime_ns = wire_get_u64(&r);
	ret->ctime_ns = wire_get_u64(&r);
	ret->name = wire_get_cstring(&r);
	if (wire_reader_end(&r) && is_kind(ret->kind) &&
	    (ret->name[0] == '\0' || sbx_path_is_relative(ret->name)))
		return true;
	wire_entry_done(ret);
	return false;
}

void wire_entry_done(struct wire_entry *m)
{
	free(m->name);
	*m = (struct wire_entry){0};
}

void wire_usage_format(struct sbx_buf *b, const struct wire_usage *m)
{
	wire_put_u64(b, m->peak_memory_bytes);
	wire_put_u64(b, m->oom_kills);
}

bool wire_usage_parse(const void *payload, size_t len, struct wire_usage *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->peak_memory_bytes = wire_get_u64(&r);
	ret->oom_kills = wire_get_u64(&r);
	return wire_reader_end(&r);
}

void wire_pong_format(struct sbx_buf *b, const struct wire_pong *m)
{
	wire_put_u64(b, m->clock_ns);
}

bool wire_pong_parse(const void *payload, size_t len, struct wire_pong *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->clock_ns = wire_get_u64(&r);
	return wire_reader_end(&r);
}

/* ---- ERROR ---- */

void wire_error_format(struct sbx_buf *b, const struct wire_error *m)
{
	wire_put_u32(b, m->code);
	wire_put_u32(b, m->sys_errno);
	wire_put_cstring(b, m->text);
}

bool wire_error_parse(const void *payload, size_t len, struct wire_error *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->code = wire_get_u32(&r);
	ret->sys_errno = wire_get_u32(&r);
	ret->text = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->code != SBX_OK && ret->code <= SBX_E_PROTOCOL)
		return true;
	wire_error_done(ret);
	return false;
}

void wire_error_done(struct wire_error *m)
{
	free(m->text);
	*m = (struct wire_error){0};
}

/* ---- LISTEN, LISTENING, CONNECT, REFUSED ---- */

void wire_port_format(struct sbx_buf *b, const struct wire_port *m)
{
	wire_put_u16(b, m->port);
}

bool wire_port_parse(const void *payload, size_t len, struct wire_port *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->port = wire_get_u16(&r);
	return wire_reader_end(&r);
}

void wire_connect_format(struct sbx_buf *b, const struct wire_connect *m)
{
	wire_put_u8(b, m->how);
	wire_put_u16(b, m->port);
	wire_put_cstring(b, m->host);
	wire_put_cstring(b, m->fault);
}

bool wire_connect_parse(const void *payload, size_t len, struct wire_connect *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->how = wire_get_u8(&r);
	ret->port = wire_get_u16(&r);
	ret->host = wire_get_cstring(&r);
	ret->fault = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->how < WIRE_HOW_COUNT && ret->host[0] != '\0' &&
	    strlen(ret->host) <= WIRE_HOST_MAX && strlen(ret->fault) <= WIRE_FAULT_MAX)
		return true;
	wire_connect_done(ret);
	return false;
}

void wire_connect_done(struct wire_connect *m)
{
	free(m->host);
	free(m->fault);
	*m = (struct wire_connect){0};
}

void wire_refused_format(struct sbx_buf *b, const struct wire_refused *m)
{
	wire_put_u32(b, m->kind);
	wire_put_cstring(b, m->text);
}

bool wire_refused_parse(const void *payload, size_t len, struct wire_refused *ret)
{
	struct wire_reader r = wire_reader_over(payload, len);

	ret->kind = wire_get_u32(&r);
	ret->text = wire_get_cstring(&r);
	if (wire_reader_end(&r) && ret->kind < WIRE_REFUSED_COUNT)
		return true;
	wire_refused_done(ret);
	return false;
}

void wire_refused_done(struct wire_refused *m)
{
	free(m->text);
	*m = (struct wire_refused){0};
}
