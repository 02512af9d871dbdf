#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Start the kernel of R with the host's socket as descriptor 0: that is the only descriptor that R
# can be told to use. kernel.R moves it away from there at once.
exec Rscript "${0%.sh}.R" <&3 3<&-
