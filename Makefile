# What this project can do; `make help` lists it.

# One setting for all, so that tests and binaries share what the compiler caches.
export CGO_ENABLED := 0

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOL     := go tool -modfile=$(CURDIR)/hack/tools/go.mod
GENERATE := $(TOOL) controller-gen
LINT     := $(TOOL) golangci-lint-kube-api-linter run
MODULE   := github.com/samplecrd/samplecrd
TYPES    := $(MODULE)/apis/samplecrd/v1 $(MODULE)/apis/samplecontroller/v1alpha1
# Runs one of the client generators: $(call client,generator,folder in client/) …
client   = $(TOOL) $(1) --go-header-file /dev/null --output-dir client/$(2) --output-pkg $(MODULE)/client/$(2)
VERSION  ?= dev
COMMIT   ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
# How long one test package may take; generous, for a loaded machine.
TIMEOUT  := 30m
# How long `make fuzz` looks for inputs, for each target.
FUZZTIME ?= 60s

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use

.PHONY: run
run: build ## Try everything: a control plane, the bundle and a default class, until Ctrl-C
	@exec bin/run

.PHONY: build
build: control-plane ## Build the controller, and what make run runs, into bin/
	@echo 'Building samplecrd-controller'
	@go build -ldflags '$(LDFLAGS)' -o bin/samplecrd-controller .
	@go build -o bin/run ./test/run

.PHONY: image
image: ## Build the container image samplecrd-controller:dev
	docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t samplecrd-controller:$(VERSION) .

##@ Deploy

KUBECTL ?= kubectl
IMAGE   ?= samplecrd-controller:$(VERSION)

.PHONY: deploy
deploy: ## Install config/default with IMAGE on the cluster that kubectl means
	@mkdir -p .run/deploy
	@printf '%s\n' 'resources: [../../config/default]' 'patches:' '  - target: {kind: Deployment, name: samplecrd-controller}' \
		'    patch: |' '      - {op: replace, path: /spec/template/spec/containers/0/image, value: "$(IMAGE)"}' >.run/deploy/kustomization.yaml
	$(KUBECTL) apply -k .run/deploy

.PHONY: undeploy
undeploy: ## Remove it again; refuses while there are Foos, Networks or classes in use
	@KUBECTL='$(KUBECTL)' hack/undeploy.sh

##@ Check

.PHONY: test
test: build ## Run all tests but those on Neutron: rules, fuzz seeds, and integration on a real API server
	NEUTRON=off go test -count=1 -timeout $(TIMEOUT) -p 2 ./...
	go test -C test/controlplane ./...
	go test -C test/cluster .
	@echo 'The tests on a real Neutron did not run; make test-neutron starts one and runs them'

.PHONY: test-neutron
test-neutron: neutron-up ## Run the tests on a real OpenStack Neutron
	NEUTRON=required go test -count=1 -timeout $(TIMEOUT) -p 1 ./providers/neutron ./test/integration/neutron
	NEUTRON=required go test -count=1 -timeout $(TIMEOUT) -v ./test/integration/neutron/kill -ginkgo.v

.PHONY: neutron-kill
neutron-kill: neutron-up ## Kill the controller at 201 of its calls to that Neutron, in 67 lives (an hour)
	NEUTRON=required KILL_POINTS=201 go test -count=1 -timeout 3h -v ./test/integration/neutron/kill -ginkgo.v

.PHONY: cluster-up
cluster-up: ## Start a real cluster of one node on this machine (as root; 20 minutes when built cold)
	@go run -C test/cluster . up

.PHONY: cluster-load
cluster-load: ## Build the image and bring it to the node of make cluster-up, as IMAGE
	@go build -ldflags '$(LDFLAGS)' -o bin/samplecrd-controller .
	@go run -C test/cluster . load '$(IMAGE)' '$(CURDIR)'

.PHONY: cluster-down
cluster-down: ## End it, and remove all that is left of it
	@go run -C test/cluster . down

.PHONY: neutron-up
neutron-up: ## Start a real OpenStack Neutron with Keystone on this machine (as root, on Debian)
	@go run ./test/openstack/neutron up

.PHONY: neutron-down
neutron-down: ## End it, and remove all that is left of it but the packages
	@go run ./test/openstack/neutron down

# Compiled first: what `go test` runs itself is heard only when it has ended. E2E=… is
# passed on, for example E2E=--ginkgo.focus=killed.
E2E_TEST := cd test/cluster/e2e && $(CURDIR)/bin/e2e.test --test.timeout=90m --ginkgo.v --ginkgo.no-color $(E2E)

.PHONY: e2e
ifeq ($(origin KUBECONFIG),command line)
e2e: ## Test the bundle on that cluster, or with KUBECONFIG=… on another (see CONTRIBUTING.md)
	@go test -C test/cluster -c -o $(CURDIR)/bin/e2e.test ./e2e
	@export KUBECONFIG='$(abspath $(KUBECONFIG))' KUBECTL='$(KUBECTL)'; $(E2E_TEST)
else
e2e: cluster-up
	@go test -C test/cluster -c -o $(CURDIR)/bin/e2e.test ./e2e
	@go build -ldflags '$(LDFLAGS)' -o bin/samplecrd-controller .
	@export KUBECONFIG='$(CURDIR)/.run/cluster/kubeconfig' KUBECTL='$(CURDIR)/bin/cluster/kubectl' \
		E2E_IMAGE="samplecrd-controller:$$(sha256sum bin/samplecrd-controller | head -c 12)" E2E_LOAD='go run -C test/cluster . load' \
		E2E_BINARY='$(CURDIR)/bin/samplecrd-controller' E2E_AUDIT_LOG=/var/lib/samplecrd-cluster/log/audit.log; \
	$$E2E_LOAD $$E2E_IMAGE $(CURDIR); $(E2E_TEST)
endif

.PHONY: unit
unit: ## Run the tests that need no API server, but kubectl
	go test ./addressing/... ./scaling/... ./apis/... ./webhooks/... ./controllers/... ./providers/memory/... ./certs/... .

.PHONY: fuzz
fuzz: ## Look for inputs that break the rules or the webhooks, FUZZTIME long each
	go test ./addressing -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME)
	go test ./scaling -run '^$$' -fuzz '^FuzzValidate$$' -fuzztime $(FUZZTIME)
	go test ./webhooks/network -run '^$$' -fuzz '^FuzzDefault$$' -fuzztime $(FUZZTIME)
	go test ./webhooks/foo -run '^$$' -fuzz '^FuzzFoo$$' -fuzztime $(FUZZTIME)
	go test ./webhooks/networkclass -run '^$$' -fuzz '^FuzzNetworkClass$$' -fuzztime $(FUZZTIME)

.PHONY: lint
lint: ## Check style, import directions and API conventions
	$(LINT) ./...
	cd test/controlplane && $(LINT) ./...
	cd test/cluster && $(LINT) ./...

.PHONY: verify
verify: generate ## Regenerate everything and demand a clean tree
	go mod tidy -diff
	go -C test/cluster mod tidy -diff
	go mod verify
	@test -z "$$(git status --porcelain)" || { git status --short; git diff | head -100; echo "generated files are stale: commit what 'make generate' wrote"; exit 1; }

##@ Change

.PHONY: generate
generate: ## Write what is generated: deep copies, CRDs, RBAC, webhook configurations, clients
	$(GENERATE) object crd paths=./apis/... output:crd:dir=config/crd
	$(GENERATE) webhook paths=./webhooks/... output:webhook:dir=config/webhook
	$(GENERATE) rbac:roleName=samplecrd-controller paths='./controllers/...;./providers/...;./webhooks/...' output:rbac:dir=config/rbac
	rm -rf client
	mkdir -p bin && go run ./hack/openapi config/crd >bin/openapi.json
	$(call client,applyconfiguration-gen,applyconfiguration) --openapi-schema bin/openapi.json $(TYPES)
	$(call client,client-gen,clientset) --clientset-name versioned --input-base '' $(TYPES:%=--input %) \
		--apply-configuration-package $(MODULE)/client/applyconfiguration
	$(call client,lister-gen,listers) $(TYPES)
	$(call client,informer-gen,informers) --versioned-clientset-package $(MODULE)/client/clientset/versioned \
		--listers-package $(MODULE)/client/listers $(TYPES)

.PHONY: format
format: ## Format the Go files
	gofmt -w $$(git ls-files '*.go')

##@ Need

.PHONY: control-plane
control-plane: ## Find or build etcd, kube-apiserver and kubectl (10 minutes, once)
	@go run -C test/controlplane . >/dev/null

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin .run
