# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `make install` puts where.

.PHONY: install install-tachbpf install-agent uninstall
# Where systemd looks for the units of packages, and of an administrator's own programs.
UNITS   ?= $(if $(filter /usr,$(PREFIX)),/usr/lib/systemd/system,/etc/systemd/system)
CONFIG  := /etc/default/tachbpf
AGENT_CONFIG := /etc/tachbpf/agent.yaml
SHARE   := $(PREFIX)/share
BASH_COMPLETION := $(SHARE)/bash-completion/completions/tachbpf
ZSH_DIR         ?= $(SHARE)/zsh/site-functions
ZSH_COMPLETION  := $(ZSH_DIR)/_tachbpf
FISH_COMPLETION := $(SHARE)/fish/vendor_completions.d/tachbpf.fish
DOC_DIR         := $(SHARE)/doc/tachbpf

install: install-tachbpf $(if $(filter 0,$(AGENT)),,install-agent) ## put programs, man pages, completions and (disabled) services under PREFIX (/usr/local)

# The completions are made by the binary itself, so it must run on this machine.
install-tachbpf: all
	install -D -m 755 $(O)/tachbpf $(DESTDIR)$(PREFIX)/bin/tachbpf
ifneq ($(NATIVE),0)
	install -D -m 755 $(O)/tachbpf-elf $(DESTDIR)$(PREFIX)/libexec/tachbpf/tachbpf-elf
endif
	install -D -m 644 docs/tachbpf.1 $(DESTDIR)$(SHARE)/man/man1/tachbpf.1
	install -d $(DESTDIR)$(DOC_DIR)/docs
	install -m 644 README.md CHANGELOG.md CONTRIBUTING.md $(DESTDIR)$(DOC_DIR)
	install -m 644 $(wildcard docs/*.md docs/*.svg docs/*.png) $(DESTDIR)$(DOC_DIR)/docs
	mkdir -p $(dir $(addprefix $(DESTDIR),$(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION) $(UNITS)/))
	$(O)/tachbpf completion bash >$(DESTDIR)$(BASH_COMPLETION)
	$(O)/tachbpf completion zsh >$(DESTDIR)$(ZSH_COMPLETION)
	$(O)/tachbpf completion fish >$(DESTDIR)$(FISH_COMPLETION)
	sed 's#@PREFIX@#$(PREFIX)#' packaging/tachbpf.service >$(DESTDIR)$(UNITS)/tachbpf.service
	[ -e $(DESTDIR)$(CONFIG) ] || install -D -m 644 packaging/tachbpf.default $(DESTDIR)$(CONFIG)

install-agent: all
	install -D -m 755 $(O)/tachbpf-agent $(DESTDIR)$(PREFIX)/bin/tachbpf-agent
	install -D -m 644 docs/tachbpf-agent.8 $(DESTDIR)$(SHARE)/man/man8/tachbpf-agent.8
	mkdir -p $(DESTDIR)$(UNITS)
	sed 's#@PREFIX@#$(PREFIX)#' packaging/tachbpf-agent.service >$(DESTDIR)$(UNITS)/tachbpf-agent.service
	sed 's#@PREFIX@#$(PREFIX)#' packaging/warehouse/tachbpf-parquet.service >$(DESTDIR)$(UNITS)/tachbpf-parquet.service
	install -m 644 packaging/warehouse/tachbpf-parquet.timer $(DESTDIR)$(UNITS)/tachbpf-parquet.timer
	install -D -m 755 packaging/warehouse/hourly.sh $(DESTDIR)$(PREFIX)/libexec/tachbpf/parquet-hourly
	[ -e $(DESTDIR)$(AGENT_CONFIG) ] || install -D -m 644 packaging/agent.yaml $(DESTDIR)$(AGENT_CONFIG)

uninstall: ## remove what was installed, except /etc/default/tachbpf and /etc/tachbpf
	rm -f $(addprefix $(DESTDIR),$(PREFIX)/bin/tachbpf $(SHARE)/man/man1/tachbpf.1 $(UNITS)/tachbpf.service \
		$(PREFIX)/libexec/tachbpf/tachbpf-elf $(PREFIX)/bin/tachbpf-agent $(SHARE)/man/man8/tachbpf-agent.8 $(UNITS)/tachbpf-agent.service \
		$(PREFIX)/libexec/tachbpf/parquet-hourly $(UNITS)/tachbpf-parquet.service $(UNITS)/tachbpf-parquet.timer \
		$(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))
	rm -rf $(DESTDIR)$(DOC_DIR)
	rmdir $(DESTDIR)$(PREFIX)/libexec/tachbpf 2>/dev/null || true
