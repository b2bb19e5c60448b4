# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# How tachbpf gets to machines that do not build it. docs/packaging.md says what each is for.

.PHONY: dist deb rpm image image-agent static wheel

# The time that packages carry: that of the last commit, so that they can be made again.
EPOCH  = $(or $(SOURCE_DATE_EPOCH),$(shell cat packaging/epoch 2>/dev/null || git log -1 --format=%ct))
DIST  := tachbpf-$(VERSION)
TAR    = tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@$(EPOCH) --format=gnu

dist: $(O)/$(DIST).tar.xz ## a source tarball with the generated files: a build of it needs no clang, no bpftool, no network

$(O)/$(DIST).tar.xz: FORCE
	@[ -e .git ] || { echo "make dist needs the git repository; this tree is a tarball's already" >&2; exit 1; }
	$(Q)rm -rf $(O)/dist && mkdir -p $(O)/dist/$(DIST)/generated
	$(Q)git ls-files -z | tar --null -T - -cf - | tar -xf - -C $(O)/dist/$(DIST)
	$(Q)[ ! -d vendor ] || cp -r vendor $(O)/dist/$(DIST)
	$(Q)echo $(EPOCH) >$(O)/dist/$(DIST)/packaging/epoch
	$(Q)for arch in x86 arm64; do \
		$(MAKE) --no-print-directory ARCH=$$arch CC='$(CC)' O=$(O)/skeleton GENERATED= skeleton || exit 1; \
		mkdir $(O)/dist/$(DIST)/generated/$$arch && \
		cp $(O)/skeleton/$$([ $$arch = $(OWN_ARCH) ] || echo $$arch/)*.skel.h \
			$(O)/dist/$(DIST)/generated/$$arch || exit 1; \
	done
	$(E) TAR $@
	$(Q)XZ_OPT=-T1 $(TAR) -C $(O)/dist -cJf $@ $(DIST)

.PHONY: skeleton FORCE
skeleton: $(BPF_SKEL)

.PHONY: deb-deps rpm-deps static-deps
deb-deps rpm-deps static-deps: %-deps:
	@AGENT=$(AGENT) NATIVE=$(NATIVE) sh tools/deps.sh $*

deb: deb-deps dist ## Debian packages tachbpf and tachbpf-agent, by dpkg-buildpackage
	$(Q)sh packaging/deb.sh $(O) $(VERSION) $(EPOCH)

rpm: rpm-deps dist ## RPM packages tachbpf and tachbpf-agent, by rpmbuild
	$(Q)sh packaging/rpm.sh $(O) $(VERSION) $(EPOCH)

static: static-deps ## build/static/tachbpf, tachbpf-agent: files for any Linux of this machine type
	$(Q)$(if $(SYSROOT_FLAG),$(MAKE) --no-print-directory LINK=static sysroot)
	$(Q)$(MAKE) --no-print-directory LINK=static all

# BASE: the image below it, such as debian:stable-slim for who needs a shell in it.
BASE       ?= scratch
CONTAINERS ?= $(shell command -v podman || command -v docker)
# An image of another machine type has it in its name and in its manifest; buildah's cache does not
# ask for the type.
OTHER_TYPE := $(if $(SYSROOT_FLAG),$(DEBIAN_$(ARCH)))
BUILD_IMAGE = $(CONTAINERS) build $(if $(OTHER_TYPE),--platform linux/$(OTHER_TYPE) --no-cache) $(IMAGEFLAGS)
IMAGE      ?= tachbpf:$(VERSION)$(OTHER_TYPE:%=-%)
define need_containers
@[ -n "$(CONTAINERS)" ] || { echo "make $@ needs podman or docker: apt-get install podman" >&2; exit 1; }
endef
image: static ## a container image of tachbpf alone, by podman or docker; BASE=debian:stable-slim: with a shell
	$(need_containers)
	$(Q)$(BUILD_IMAGE) --build-arg BASE=$(BASE) -f packaging/Containerfile -t $(IMAGE) $(O)/static

AGENT_IMAGE ?= tachbpf-agent:$(VERSION)$(OTHER_TYPE:%=-%)
image-agent: all ## a container image of tachbpf-agent and the libraries that it needs; ARCH=arm64: of the other machine type
	$(need_containers)
	$(E) ROOT $(O)/image-agent/root
	$(Q)sh packaging/image_root.sh $(O) $(O)/image-agent/root $(if $(SYSROOT_FLAG),$(SYSROOT))
	$(Q)$(BUILD_IMAGE) -f packaging/Containerfile.agent -t $(AGENT_IMAGE) $(O)/image-agent

# WHEELS: the directory that it is put into.
WHEELS ?= $(O)
wheel: static ## a Python wheel of these files and of the package tachbpf: pip install tachbpf
	$(Q)mkdir -p $(WHEELS)
	$(Q)$(PYTHON) packaging/wheel.py $(O)/static/tachbpf $(VERSION) $(EPOCH) $(WHEELS) $(CROSS_$(ARCH))strip
