/* SPDX-License-Identifier: MIT */
/*
 * What a library may be called, per ecosystem. A requirement ends up as one word of a package
 * manager's command line or in its project file, so only what names a package of the configured
 * repositories passes: no address, path, option, alias or marker. Each function returns NULL, or
 * what is wrong as the end of a sentence that began with the requirement.
 */
#pragma once

/* For every ecosystem, and before its own function: length, and characters that none has. */
const char *sbx_requirement_check(const char *text);

/* PEP 508 without markers and addresses: "requests[socks]>=2,<3". */
const char *sbx_requirement_pypi(const char *text);
/* "lodash", "@types/node@18", "express@^4.18"; ranges and tags of the registry. */
const char *sbx_requirement_npm(const char *text);
/* A module's path, and what may stand behind its "@". */
const char *sbx_requirement_go(const char *text);
/* "group:artifact:version" or "group:artifact:version:classifier". */
const char *sbx_requirement_maven(const char *text);
/* "rack", "rack:2.2.4", "rack:~>2.2". */
const char *sbx_requirement_gem(const char *text);
/* "jsonlite", "jsonlite@1.8.7". */
const char *sbx_requirement_cran(const char *text);
/* "libfmt-dev", "libfmt-dev=9.1.0+ds1-2": a -dev package or a library. */
const char *sbx_requirement_debian(const char *text);
