/* SPDX-License-Identifier: MIT */
/*
 * Files of a session, in and out. A path inside is absolute or relative to the work folder; names
 * may hold any byte but slash and NUL. What is put belongs to the sandbox's user, with whose
 * rights all of it happens: no call can do more than a program inside could.
 *
 * What comes out is hostile. Only regular files and folders do; of their modes only the owner's
 * permission bits, and reading and execution by others; links, devices, sockets, FIFOs and what
 * the sandbox's user cannot read are left out of a tree and counted. Nothing is ever written
 * through a link, in the sandbox or on this machine: SBX_E_DENIED or SBX_E_INVALID inside. A path
 * may not have "..": SBX_E_DENIED.
 *
 * Each call is an operation of its session: it blocks, and waits for the operation before it.
 */
#ifndef LLMSANDBOX_FILES_H
#define LLMSANDBOX_FILES_H

#include <llmsandbox/error.h>
#include <llmsandbox/session.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sbx_file_kind { SBX_FILE_REGULAR, SBX_FILE_FOLDER, SBX_FILE_LINK, SBX_FILE_OTHER };

struct sbx_file_info {
	char *path; /* as asked; in a list relative to what was listed, "a/b.txt" */
	enum sbx_file_kind kind;
	uint32_t mode;	   /* permission bits, 07777 */
	uint64_t size;	   /* bytes; of a regular file */
	uint64_t mtime_ns; /* since 1970 */
};

/* What a copy came to. */
struct sbx_copy_report {
	uint64_t files, folders, bytes; /* copied */
	uint64_t left_out;		/* what does not go out or in, as said above */
	char first_left_out[256];	/* the path of one of them, or "" */
};

/*
 * As a copy goes on: bytes so far of total (0: not known yet), and the file that is under way.
 * On the thread that called; must not use the session. False stops the copy: SBX_E_UNAVAILABLE.
 */
typedef bool sbx_progress_fn(uint64_t done, uint64_t total, const char *path, void *userdata);

/* Zero it, set what you need; NULL is the same as all zero. */
struct sbx_copy {
	sbx_progress_fn *progress;
	void *userdata;
	struct sbx_cancel *cancel;
	uint64_t most_bytes; /* of all files together; 0: no limit but those of the sandbox */
	uint64_t most_files; /* files and folders; 0: 1,000,000 */
};

/*
 * Copy a file or a folder with all below it into the sandbox. `to` is the new path itself, not a
 * folder to put it in; parents are made; a file is replaced as a whole, a folder is added to.
 * SBX_E_NOT_FOUND: no such file here. SBX_E_DENIED: ".." in `to`. ret_report may be NULL.
 */
SBX_API int sbx_session_put(struct sbx_session *session, const char *from, const char *to,
			    const struct sbx_copy *how, struct sbx_copy_report *ret_report,
			    struct sbx_error *err);

/*
 * Copy a file or folder out of the sandbox to the path `to` on this machine; its parent must
 * exist. A file is written beside it and renamed, so it is whole or as it was. What is a link at
 * `to` is replaced, and never followed. Holes stay holes. Each file is read as it is at one
 * moment after another: a file that grows is cut at its first size.
 * SBX_E_NOT_FOUND: no such file inside. SBX_E_INVALID: it is neither file nor folder.
 * SBX_E_LIMIT: more than `how` allows; what was copied so far is then left.
 */
SBX_API int sbx_session_get(struct sbx_session *session, const char *from, const char *to,
			    const struct sbx_copy *how, struct sbx_copy_report *ret_report,
			    struct sbx_error *err);

/*
 * Read `most` bytes at most of a file, from offset: *ret has *ret_len bytes and a NUL behind
 * them; free() it. *ret_size, if not NULL, is the size of the whole file.
 */
SBX_API int sbx_session_read_file(struct sbx_session *session, const char *path, uint64_t offset,
				  size_t most, char **ret, size_t *ret_len, uint64_t *ret_size,
				  struct sbx_error *err);

enum sbx_write_mode {
	SBX_WRITE_REPLACE, /* as a whole: readers see the old file or the new one */
	SBX_WRITE_NEW,	   /* SBX_E_INVALID when there is something of that name */
	SBX_WRITE_APPEND   /* to what is there; a new file else */
};

/* Write a file; parents are made. */
SBX_API int sbx_session_write_file(struct sbx_session *session, const char *path, const void *data,
				   size_t len, enum sbx_write_mode mode, struct sbx_error *err);

/*
 * What is in a folder, sorted by bytes of the path; with `deep` what is below it too, links not
 * followed. At most `most` entries (0: 100,000), else SBX_E_LIMIT. Free with sbx_files_free().
 */
SBX_API int sbx_session_list_files(struct sbx_session *session, const char *path, bool deep,
				   size_t most, struct sbx_file_info **ret, size_t *ret_count,
				   struct sbx_error *err);
SBX_API void sbx_files_free(struct sbx_file_info *files, size_t count);

/* One file, a link itself and not what it leads to; free ret->path with free(). */
SBX_API int sbx_session_stat_file(struct sbx_session *session, const char *path,
				  struct sbx_file_info *ret, struct sbx_error *err);

/* A file, a link, or with `deep` a folder with all below it. The work folder itself stays. */
SBX_API int sbx_session_remove_file(struct sbx_session *session, const char *path, bool deep,
				    struct sbx_error *err);

/* A folder and its parents; no error when it is there. */
SBX_API int sbx_session_make_folder(struct sbx_session *session, const char *path,
				    struct sbx_error *err);

/*
 * Write a file or folder to fd as a tar archive (pax), names below the last component of `path`.
 * The same things are left out as by sbx_session_get(). Holes become zeros: without most_bytes no
 * more of them than the sandbox has disk.
 */
SBX_API int sbx_session_archive(struct sbx_session *session, const char *path, int fd,
				const struct sbx_copy *how, struct sbx_copy_report *ret_report,
				struct sbx_error *err);

/*
 * Unpack an archive read from fd (tar, also compressed; zip) into the folder `path`. Names that
 * lead out of it, links and special files are left out and counted. SBX_E_INVALID: it is damaged,
 * encrypted or no archive; what was unpacked so far is then left.
 */
SBX_API int sbx_session_unpack(struct sbx_session *session, int fd, const char *path,
			       const struct sbx_copy *how, struct sbx_copy_report *ret_report,
			       struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
