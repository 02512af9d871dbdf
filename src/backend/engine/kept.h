/* SPDX-License-Identifier: MIT */
/*
 * Images of our own with an engine: "llm-sandbox/NAME:latest", told from others by a label. They
 * come as one archive of a root file system; their user is sandbox, and their folder /sandbox.
 */
#pragma once

#include "backend/backend.h"

extern const struct sbx_backend_images engine_images_docker, engine_images_podman;
