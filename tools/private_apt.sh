# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# private_apt.sh: to be sourced. apt with lists and a cache of its own: it trusts the keys and
# reaches the mirrors that this system is configured with, runs none of this system's hooks, and
# this system's package manager does not learn what it does.

# private_apt DIR ARCH: makes DIR/apt.conf for machine type ARCH and an empty DIR/sources.list.
# The caller fills sources.list and exports APT_CONFIG=DIR/apt.conf.
private_apt() {
	mkdir -p "$1/lists/partial" "$1/archives/partial"
	apt-config dump | grep '^Acquire::' >"$1/apt.conf" || true
	cat >>"$1/apt.conf" <<END
APT::Architecture "$2";
APT::Architectures { "$2"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$1";
Dir::State::lists "$1/lists";
Dir::State::status "$1/status";
Dir::Cache "$1";
Dir::Cache::archives "$1/archives";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "/dev/null";
END
	: >"$1/sources.list"
	: >"$1/status"
}

# apt_keys MIRROR: "[signed-by=FILE] " for a mirror of Debian or Ubuntu, if their keys are here.
apt_keys() {
	for ring in debian ubuntu; do
		case $1 in
		*$ring*)
			[ ! -e /usr/share/keyrings/$ring-archive-keyring.gpg ] ||
				echo "[signed-by=/usr/share/keyrings/$ring-archive-keyring.gpg] "
			return
			;;
		esac
	done
}

# apt_source_lists: lines of sources.list for the source packages of what apt is configured with.
apt_source_lists() {
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
		while read -r site release component; do
			echo "deb-src $(apt_keys "$site")$site $release $component"
		done
}
