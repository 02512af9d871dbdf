#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Boot a small machine with cgroup v2 in qemu and run cgroup2-checks in it. The last line is
# 'N passed, N failed'. Usage: cgroup2.sh KERNEL-PACKAGE [BUILD-FOLDER [CHECKS-PROGRAM]]
#
# KERNEL-PACKAGE is a folder that a kernel's package was extracted to (boot/vmlinuz-* and
# lib/modules/*), for example on Debian:
#
#	apt-get download linux-image-6.1.0-57-amd64
#	dpkg -x linux-image-*.deb /tmp/kernel
#
# Needs qemu-system-x86_64, busybox (static) and kmod. The machine sees this one's files
# read-only, with a layer in memory on top; it writes nothing here.
set -euo pipefail

source=$(cd "$(dirname "$0")/../.." && pwd)
package=$(cd "$1" && pwd)
build=$(cd "${2:-$source/build}" && pwd)
checks=${3:-$source/tests/machine/cgroup2-checks}
release=$(basename "$package"/lib/modules/*)
folder=$(mktemp -d /tmp/sbx-machine-XXXXXX)
trap 'rm -rf --one-file-system "$folder"' EXIT

# The modules in the order in which they can be loaded.
list_modules() {
	local module

	for module in virtio_pci 9p 9pnet_virtio overlay; do
		modprobe --dirname "$folder" --set-version "$release" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

make_image() {
	local module

	mkdir -p "$folder/lib/modules" "$folder/image"/{bin,dev,modules}
	ln -s "$package/lib/modules/$release" "$folder/lib/modules/$release"
	cp "$(command -v busybox)" "$folder/image/bin/busybox"
	for module in $(list_modules); do
		cp "$module" "$folder/image/modules/"
		echo "/bin/busybox insmod /modules/$(basename "$module")" >>"$folder/load"
	done
	{
		echo '#!/bin/busybox sh'
		cat "$folder/load"
		cat <<-END
			b=/bin/busybox
			\$b mkdir /host /layer /new
			\$b mount -t devtmpfs dev /dev
			\$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 host /host
			\$b mount -t tmpfs -o size=50% layer /layer
			\$b mkdir /layer/upper /layer/work
			\$b mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /new
			\$b mount -t proc proc /new/proc
			\$b mount -t sysfs sysfs /new/sys
			\$b mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
			\$b mount -t devtmpfs dev /new/dev
			\$b mkdir -p /new/dev/pts /new/dev/shm
			\$b ln -s /proc/self/fd /new/dev/fd
			\$b mount -t devpts devpts /new/dev/pts
			\$b mount -t tmpfs shm /new/dev/shm
			\$b mount -t tmpfs run /new/run
			\$b mount -t tmpfs tmp /new/tmp
			\$b chmod 1777 /new/tmp /new/dev/shm
			\$b ip link set lo up
			\$b hostname machine
			export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
			export SBX_SOURCE=$source SBX_BUILD=$build
			exec \$b switch_root -c /dev/console /new /bin/bash -c '
				$checks </dev/null 2>&1
				busybox poweroff -f'
		END
	} >"$folder/image/init"
	chmod +x "$folder/image/init"
	(cd "$folder/image" && find . | busybox cpio -o -H newc 2>/dev/null) >"$folder/initramfs"
}

make_image
timeout "${SBX_MACHINE_SECONDS:-900}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max \
	-m 2G -smp 2 -display none -serial stdio -monitor none -nic none -no-reboot \
	-kernel "$package/boot/vmlinuz-$release" -initrd "$folder/initramfs" \
	-append 'console=ttyS0 quiet panic=-1' \
	-fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
	-device virtio-9p-pci,fsdev=host,mount_tag=host </dev/null |
	sed -u 's/\r$//; /reboot: Power down$/d' | tee "$folder/log"
tail -n 1 "$folder/log" | grep -q ' passed, 0 failed$'
