/* SPDX-License-Identifier: MIT */
/*
 * libarchive, loaded when an archive is first asked for: with the dozen libraries that it brings it
 * would make every start of a program two milliseconds slower. Its functions have their own names
 * here; whoever begins to use them calls sbx_libarchive_load() before.
 */
#pragma once

#include "base/error.h"

#include <archive.h>
#include <archive_entry.h>

/* Those that are used: a new one is a line here, and one below. */
#define SBX_LIBARCHIVE_FUNCTIONS(X)				\
	X(archive_entry_clear)					\
	X(archive_entry_copy_pathname)				\
	X(archive_entry_filetype)				\
	X(archive_entry_free)					\
	X(archive_entry_hardlink)				\
	X(archive_entry_is_encrypted)				\
	X(archive_entry_mtime)					\
	X(archive_entry_mtime_is_set)				\
	X(archive_entry_mtime_nsec)				\
	X(archive_entry_new)					\
	X(archive_entry_pathname)				\
	X(archive_entry_perm)					\
	X(archive_entry_set_filetype)				\
	X(archive_entry_set_gid)				\
	X(archive_entry_set_gname)				\
	X(archive_entry_set_mode)				\
	X(archive_entry_set_mtime)				\
	X(archive_entry_set_pathname)				\
	X(archive_entry_set_perm)				\
	X(archive_entry_set_size)				\
	X(archive_entry_set_symlink)				\
	X(archive_entry_set_uid)				\
	X(archive_entry_set_uname)				\
	X(archive_entry_size)					\
	X(archive_entry_size_is_set)				\
	X(archive_entry_sparse_clear)				\
	X(archive_entry_symlink)				\
	X(archive_errno)					\
	X(archive_error_string)					\
	X(archive_read_data)					\
	X(archive_read_data_block)				\
	X(archive_read_disk_descend)				\
	X(archive_read_disk_new)				\
	X(archive_read_disk_open)				\
	X(archive_read_disk_set_behavior)			\
	X(archive_read_disk_set_symlink_physical)		\
	X(archive_read_free)					\
	X(archive_read_new)					\
	X(archive_read_next_header)				\
	X(archive_read_next_header2)				\
	X(archive_read_open1)					\
	X(archive_read_open_memory)				\
	X(archive_read_set_callback_data)			\
	X(archive_read_set_read_callback)			\
	X(archive_read_set_seek_callback)			\
	X(archive_read_support_filter_bzip2)			\
	X(archive_read_support_filter_gzip)			\
	X(archive_read_support_filter_xz)			\
	X(archive_read_support_filter_zstd)			\
	X(archive_read_support_format_tar)			\
	X(archive_read_support_format_zip)			\
	X(archive_set_error)					\
	X(archive_write_close)					\
	X(archive_write_data)					\
	X(archive_write_finish_entry)				\
	X(archive_write_free)					\
	X(archive_write_header)					\
	X(archive_write_new)					\
	X(archive_write_open)					\
	X(archive_write_open_fd)				\
	X(archive_write_set_bytes_in_last_block)		\
	X(archive_write_set_format_pax_restricted)

struct sbx_libarchive {
#define X(name) __typeof__(name) *name;
	SBX_LIBARCHIVE_FUNCTIONS(X)
#undef X
};

extern struct sbx_libarchive sbx_libarchive;

/* SBX_E_UNAVAILABLE: it is not installed. Any thread. */
int sbx_libarchive_load(struct sbx_error *err);

#ifndef SBX_LIBARCHIVE_LOADER
#define archive_entry_clear sbx_libarchive.archive_entry_clear
#define archive_entry_copy_pathname sbx_libarchive.archive_entry_copy_pathname
#define archive_entry_filetype sbx_libarchive.archive_entry_filetype
#define archive_entry_free sbx_libarchive.archive_entry_free
#define archive_entry_hardlink sbx_libarchive.archive_entry_hardlink
#define archive_entry_is_encrypted sbx_libarchive.archive_entry_is_encrypted
#define archive_entry_mtime sbx_libarchive.archive_entry_mtime
#define archive_entry_mtime_is_set sbx_libarchive.archive_entry_mtime_is_set
#define archive_entry_mtime_nsec sbx_libarchive.archive_entry_mtime_nsec
#define archive_entry_new sbx_libarchive.archive_entry_new
#define archive_entry_pathname sbx_libarchive.archive_entry_pathname
#define archive_entry_perm sbx_libarchive.archive_entry_perm
#define archive_entry_set_filetype sbx_libarchive.archive_entry_set_filetype
#define archive_entry_set_gid sbx_libarchive.archive_entry_set_gid
#define archive_entry_set_gname sbx_libarchive.archive_entry_set_gname
#define archive_entry_set_mode sbx_libarchive.archive_entry_set_mode
#define archive_entry_set_mtime sbx_libarchive.archive_entry_set_mtime
#define archive_entry_set_pathname sbx_libarchive.archive_entry_set_pathname
#define archive_entry_set_perm sbx_libarchive.archive_entry_set_perm
#define archive_entry_set_size sbx_libarchive.archive_entry_set_size
#define archive_entry_set_symlink sbx_libarchive.archive_entry_set_symlink
#define archive_entry_set_uid sbx_libarchive.archive_entry_set_uid
#define archive_entry_set_uname sbx_libarchive.archive_entry_set_uname
#define archive_entry_size sbx_libarchive.archive_entry_size
#define archive_entry_size_is_set sbx_libarchive.archive_entry_size_is_set
#define archive_entry_sparse_clear sbx_libarchive.archive_entry_sparse_clear
#define archive_entry_symlink sbx_libarchive.archive_entry_symlink
#define archive_errno sbx_libarchive.archive_errno
#define archive_error_string sbx_libarchive.archive_error_string
#define archive_read_data sbx_libarchive.archive_read_data
#define archive_read_data_block sbx_libarchive.archive_read_data_block
#define archive_read_disk_descend sbx_libarchive.archive_read_disk_descend
#define archive_read_disk_new sbx_libarchive.archive_read_disk_new
#define archive_read_disk_open sbx_libarchive.archive_read_disk_open
#define archive_read_disk_set_behavior sbx_libarchive.archive_read_disk_set_behavior
#define archive_read_disk_set_symlink_physical sbx_libarchive.archive_read_disk_set_symlink_physical
#define archive_read_free sbx_libarchive.archive_read_free
#define archive_read_new sbx_libarchive.archive_read_new
#define archive_read_next_header sbx_libarchive.archive_read_next_header
#define archive_read_next_header2 sbx_libarchive.archive_read_next_header2
#define archive_read_open1 sbx_libarchive.archive_read_open1
#define archive_read_open_memory sbx_libarchive.archive_read_open_memory
#define archive_read_set_callback_data sbx_libarchive.archive_read_set_callback_data
#define archive_read_set_read_callback sbx_libarchive.archive_read_set_read_callback
#define archive_read_set_seek_callback sbx_libarchive.archive_read_set_seek_callback
#define archive_read_support_filter_bzip2 sbx_libarchive.archive_read_support_filter_bzip2
#define archive_read_support_filter_gzip sbx_libarchive.archive_read_support_filter_gzip
#define archive_read_support_filter_xz sbx_libarchive.archive_read_support_filter_xz
#define archive_read_support_filter_zstd sbx_libarchive.archive_read_support_filter_zstd
#define archive_read_support_format_tar sbx_libarchive.archive_read_support_format_tar
#define archive_read_support_format_zip sbx_libarchive.archive_read_support_format_zip
#define archive_set_error sbx_libarchive.archive_set_error
#define archive_write_close sbx_libarchive.archive_write_close
#define archive_write_data sbx_libarchive.archive_write_data
#define archive_write_finish_entry sbx_libarchive.archive_write_finish_entry
#define archive_write_free sbx_libarchive.archive_write_free
#define archive_write_header sbx_libarchive.archive_write_header
#define archive_write_new sbx_libarchive.archive_write_new
#define archive_write_open sbx_libarchive.archive_write_open
#define archive_write_open_fd sbx_libarchive.archive_write_open_fd
#define archive_write_set_bytes_in_last_block sbx_libarchive.archive_write_set_bytes_in_last_block
#define archive_write_set_format_pax_restricted sbx_libarchive.archive_write_set_format_pax_restricted
#endif
