/* SPDX-License-Identifier: MIT */
#include "lang/install.h"

#include "lang/requirement.h"

/*
 * Lay the unpacked packages out as include and lib, without the folders of the architecture. A
 * link becomes what it leads to, in the packages or in this machine's own /usr, because no link
 * leaves the sandbox. One to anything else is left out: the rest of this sandbox, with apt's own
 * passwords in it, is not for those who use the set. pkg-config's files get the set as their prefix;
 * from them come the include folders, and from the libraries the options to link them, where they
 * are needed.
 */
static const char arrange[] =
	"use strict; use Cwd qw(abs_path); use File::Path qw(make_path);\n"
	"my ($root, $set, $final) = @ARGV;\n"
	"my $public = qr{^(?:\\Q@{[abs_path($root)]}\\E|/usr|/lib)/};\n"
	"my $inside = qr{^(?:usr/)?(include|lib|share/pkgconfig|share/cmake)(/.*)?$};\n"
	"my %lib; my %include;\n"
	"sub source {\n"
	"    my $path = shift;\n"
	"    for (1 .. 40) {\n"
	"        my $at = -e \"$root/$path\" || -l \"$root/$path\" ? \"$root/$path\" : \"/$path\";\n"
	"        if (!-l $at) {\n"
	"            my $real = abs_path($at);\n"
	"            return defined $real && -f $real && $real =~ $public ? $real : undef;\n"
	"        }\n"
	"        my $to = readlink $at;\n"
	"        $path = $to =~ m{^/} ? $to : ($path =~ s{[^/]*$}{}r) . $to;\n"
	"        my @parts;\n"
	"        for (split m{/+}, $path) {\n"
	"            if ($_ eq '..') { pop @parts } elsif ($_ ne '' && $_ ne '.') { push @parts, $_ }\n"
	"        }\n"
	"        $path = join '/', @parts;\n"
	"    }\n"
	"    return undef;\n"
	"}\n"
	"sub copy {\n"
	"    open my $in, '<:raw', $_[0] or return 0;\n"
	"    open my $out, '>:raw', $_[1] or return 0;\n"
	"    while (read $in, my $data, 1 << 20) { print $out $data or return 0 }\n"
	"    return close $out;\n"
	"}\n"
	"sub take {\n"
	"    my $path = shift;\n"
	"    return unless $path =~ $inside;\n"
	"    my $from = source($path) or return;\n"
	"    (my $to = $path) =~ s{^usr/}{};\n"
	"    $to =~ s{^(include|lib)/[a-z0-9_]+-linux-gnu[a-z0-9]*/}{$1/};\n"
	"    make_path(\"$set/$to\" =~ s{/[^/]*$}{}r);\n"
	"    copy($from, \"$set/$to\") or die \"cannot copy $path: $!\\n\";\n"
	"    $lib{$1} = 1 if $to =~ m{^lib/lib([A-Za-z0-9_.+-]+?)\\.(?:so|a)$};\n"
	"    return unless $to =~ m{\\.pc$};\n"
	"    open my $in, '<', \"$set/$to\" or return; local $/; my $text = <$in>; close $in;\n"
	"    $text =~ s{(\\$\\{prefix\\}|/usr)/(include|lib)/[a-z0-9_]+-linux-gnu[a-z0-9]*}{$1/$2}g;\n"
	"    $text =~ s{/usr(?=[/\\s])}{$final}g;\n"
	"    open my $out, '>', \"$set/$to\" or return; print $out $text; close $out;\n"
	"    my %name = (prefix => $final);\n"
	"    $name{$1} //= $2 while $text =~ m{^([a-z]+)=(\\S+)$}mg;\n"
	"    for my $folder ($text =~ m{^Cflags:.*}m ? $& =~ m{-I(\\S+)}g : ()) {\n"
	"        1 while $folder =~ s{\\$\\{([a-z]+)\\}}{$name{$1} // ''}e;\n"
	"        $include{$folder} = 1 if $folder =~ m{^\\Q$final\\E/include/[A-Za-z0-9_./+-]+$};\n"
	"    }\n"
	"}\n"
	"my @folders = ('');\n"
	"while (defined(my $folder = shift @folders)) {\n"
	"    opendir my $list, \"$root/$folder\" or next;\n"
	"    for (sort readdir $list) {\n"
	"        next if $_ eq '.' || $_ eq '..';\n"
	"        my $path = $folder eq '' ? $_ : \"$folder/$_\";\n"
	"        if (-d \"$root/$path\" && !-l \"$root/$path\") { push @folders, $path } else { take($path) }\n"
	"    }\n"
	"}\n"
	"make_path(\"$set/include\", \"$set/lib\");\n"
	"open my $out, '>', \"$set/options\" or die \"cannot write: $!\\n\";\n"
	"print $out \"-Wl,--as-needed\\n\";\n"
	"print $out \"-isystem $_\\n\" for sort keys %include;\n"
	"print $out \"-l$_\\n\" for sort keys %lib;\n"
	"close $out;\n";

/* apt without root: its own folders, no locks, no other user to fetch as, names as they are. */
#define APT(...)                                                                              \
	SBX_ARGV("apt-get", "-q", "-y", "-o", "Debug::NoLocking=1", "-o", "Dir::Cache={home}/apt", \
		 "-o", "Dir::Cache::archives={home}/archives", "-o", "APT::Sandbox::User=", "-o", \
		 "APT::Cmd::Pattern-Only=1", "-o", "Dir::Log={home}", "-o",                        \
		 "Dir::State::extended_states={home}/extended", "-o", "APT::Update::Post-Invoke=", \
		 "-o", "DPkg::Use-Pty=0", __VA_ARGS__)
#define OWN_LISTS "-o", "Dir::State::lists={home}/lists"
#define FETCH	  "--no-install-recommends", "--download-only", "install", "{requirements}"

/*
 * What this machine has not installed is downloaded and unpacked; nothing is installed and no
 * script of a package runs. The lists of packages are this machine's; where they are too old or
 * there are none, new ones.
 */
const struct sbx_lang_install sbx_install_cpp = {
	.manager = "apt-get",
	.tool = "apt-get",
	.package = "apt",
	.example = "libfmt-dev",
	.check = sbx_requirement_debian,
	.shown = SBX_ARGV("/etc/apt", "/var/lib/apt", "/var/lib/dpkg"),
	/* What it would fetch; "indextargets" tells nothing where there are no lists yet, as in many images. */
	.hosts = SBX_ARGV("apt-get", "-o", "Debug::NoLocking=1", "-o", "Dir::State::lists={home}/none", "-o",
			  "Dir::Cache={home}/none", "--print-uris", "update"),
	.env = SBX_ARGV("HOME={home}", "DEBIAN_FRONTEND=noninteractive"),
	.steps = (const struct sbx_lang_step[]){
		{0, SBX_ARGV("mkdir", "-p", "{home}/archives/partial", "{home}/lists/partial",
			     "{home}/apt", "{home}/root")},
		{SBX_STEP_ONLINE | SBX_STEP_TRY, APT(FETCH)},
		{SBX_STEP_ONLINE | SBX_STEP_RETRY, APT(OWN_LISTS, "update")},
		{SBX_STEP_ONLINE | SBX_STEP_RETRY, APT(OWN_LISTS, FETCH)},
		{SBX_STEP_LIST, SBX_ARGV("find", "{home}/archives", "-name", "*.deb", "-exec",
					 "sha256sum", "{}", "+")},
		{0, SBX_ARGV("find", "{home}/archives", "-name", "*.deb", "-exec", "dpkg-deb", "-x", "{}",
			     "{home}/root", ";")},
		{0, SBX_ARGV("perl", "-e", arrange, "{home}/root", "{set}", "{final}")},
		{0, NULL},
	},
	.parse = sbx_install_parse_underscore,
	.trouble = SBX_ARGV("E: "),
	.use_env = SBX_ARGV("C_INCLUDE_PATH={set}/include", "CPLUS_INCLUDE_PATH={set}/include",
			    "LIBRARY_PATH={set}/lib", "LD_LIBRARY_PATH={set}/lib",
			    "PKG_CONFIG_PATH={set}/lib/pkgconfig:{set}/share/pkgconfig"),
	.use_compile = SBX_ARGV("g++", "-std=c++17", "-O2", "-Wall", "-pthread", "-o", "{build}/main",
				"{src}", "@{set}/options"),
};
