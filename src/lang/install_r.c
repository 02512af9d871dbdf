/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include "lang/requirement.h"

/*
 * The repositories that R is set up to use; where it would ask (@CRAN@), the first of the list of
 * mirrors that it has, which is what it would offer first.
 */
#define REPOSITORIES                                                                      \
	"repos <- getOption('repos')\n"                                                   \
	"if (nzchar(Sys.getenv('R_REPO'))) repos['CRAN'] <- Sys.getenv('R_REPO')\n"       \
	"if ('@CRAN@' %in% repos)\n"                                                      \
	"  repos[repos == '@CRAN@'] <- getCRANmirrors(local.only = TRUE)$URL[1]\n"

static const char hosts[] = REPOSITORIES "cat(repos, sep = '\\n')\n";

/*
 * Download the sources of what is wanted and of all it needs that R does not bring, each before
 * those that need it, and write their names in this order.
 */
static const char fetch[] =
	REPOSITORIES
	"args <- commandArgs(TRUE)\n"
	"folder <- args[1]\n"
	"dir.create(folder)\n"
	"fail <- function(...) { message('ERROR: ', ...); quit(status = 1) }\n"
	"last <- ''\n"
	"known <- withCallingHandlers(tryCatch(available.packages(repos = repos, type = 'source',\n"
	"  ignore_repo_cache = TRUE),\n"
	"  error = function(e) fail(conditionMessage(e))), warning = function(w) {\n"
	"    last <<- conditionMessage(w); invokeRestart('muffleWarning') })\n"
	"if (nrow(known) == 0 && nzchar(last)) fail(last)\n"
	"base <- rownames(installed.packages(lib.loc = .Library, priority = c('base', 'recommended')))\n"
	"order <- character()\n"
	"get <- function(url, file) tryCatch(download.file(url, file, quiet = TRUE, mode = 'wb'),\n"
	"  warning = function(w) fail(conditionMessage(w)), error = function(e) fail(conditionMessage(e)))\n"
	"needs <- function(fields) {\n"
	"  text <- paste(fields[!is.na(fields)], collapse = ',')\n"
	"  setdiff(trimws(sub('[(].*', '', strsplit(text, ',')[[1]])), c('R', ''))\n"
	"}\n"
	"add <- function(name, version, path) {\n"
	"  if (name %in% path || any(startsWith(order, paste0(name, '_')))) return()\n"
	"  row <- if (name %in% rownames(known)) known[name, ] else NULL\n"
	"  if (is.null(row) && is.null(version))\n"
	"    fail('there is no package ', name, ' for this R in ', paste(sub('//[^/@]*@', '//', repos), collapse = ', '))\n"
	"  if (is.null(version) || (!is.null(row) && row[['Version']] == version)) {\n"
	"    file <- paste0(name, '_', row[['Version']], '.tar.gz')\n"
	"    get(paste0(row[['Repository']], '/', file), file.path(folder, file))\n"
	"    fields <- row[c('Depends', 'Imports', 'LinkingTo')]\n"
	"  } else {\n"
	"    file <- paste0(name, '_', version, '.tar.gz')\n"
	"    get(paste0(contrib.url(repos[1], 'source'), '/Archive/', name, '/', file), file.path(folder, file))\n"
	"    untar(file.path(folder, file), files = file.path(name, 'DESCRIPTION'), exdir = tempdir())\n"
	"    fields <- read.dcf(file.path(tempdir(), name, 'DESCRIPTION'))\n"
	"    fields <- fields[, intersect(c('Depends', 'Imports', 'LinkingTo'), colnames(fields))]\n"
	"  }\n"
	"  for (need in setdiff(needs(fields), base)) add(need, NULL, c(path, name))\n"
	"  order <<- c(order, file)\n"
	"}\n"
	"wanted <- strsplit(args[-1], '@', fixed = TRUE)\n"
	"wanted <- wanted[order(lengths(wanted), decreasing = TRUE)]\n"
	"for (w in wanted) add(w[1], if (length(w) > 1) w[2], character())\n"
	"writeLines(order, file.path(folder, 'order'))\n";

static const char install[] =
	"args <- commandArgs(TRUE)\n"
	"for (file in readLines(file.path(args[1], 'order'))) {\n"
	"  status <- system2(file.path(R.home('bin'), 'R'), c('CMD', 'INSTALL', '--no-docs',\n"
	"    '--no-test-load', '--clean', '-l', shQuote(args[2]), shQuote(file.path(args[1], file))))\n"
	"  if (status != 0) { message('ERROR: ', file, ' cannot be installed'); quit(status = 1) }\n"
	"}\n";

/* As with gems: what builds runs code of the package, so it comes after all was fetched. */
const struct sbx_lang_install sbx_install_r = {
	.manager = "R",
	.tool = "Rscript",
	.package = "r-base-dev",
	.example = "jsonlite",
	.check = sbx_requirement_cran,
	.config = (const struct sbx_lang_config[]){
		{"~/.Rprofile", ".Rprofile", NULL},
		{"~/.Renviron", ".Renviron", NULL},
		{"$R_PROFILE_USER", ".Rprofile", NULL},
		{"$R_ENVIRON_USER", ".Renviron", NULL},
		{NULL, NULL, NULL},
	},
	.variables = SBX_ARGV("R_REPO", "R_REPOSITORIES"),
	.ca_variables = SBX_ARGV(SBX_INSTALL_CA),
	.hosts = SBX_ARGV("Rscript", "-e", hosts),
	.env = SBX_ARGV("HOME={home}", "LC_ALL=C.UTF-8", "R_LIBS={set}", "R_LIBS_USER={set}"),
	.steps = (const struct sbx_lang_step[]){
		{SBX_STEP_ONLINE, SBX_ARGV("Rscript", "-e", fetch, "{home}/sources", "{requirements}")},
		{SBX_STEP_LIST, SBX_ARGV("find", "{home}/sources", "-name", "*.tar.gz", "-exec",
					 "sha256sum", "{}", "+")},
		{0, SBX_ARGV("Rscript", "-e", install, "{home}/sources", "{set}")},
		{0, NULL},
	},
	.parse = sbx_install_parse_underscore,
	.trouble = SBX_ARGV("ERROR:", "Error", "configure: error"),
	.use_env = SBX_ARGV("R_LIBS={set}"),
};
