#!/bin/sh
# Removes what config/default installed, CRDs included, and refuses while the API server
# still has objects of ours: their finalizers are removed by the manager alone, and with
# a CRD its objects go, too.
#
# Environment: KUBECTL, the kubectl to use; BUNDLE, the kustomization that was installed.
# Exit code: 0 when all is gone, 1 when something exists or could not be asked or removed.
set -eu

KUBECTL=${KUBECTL:-kubectl}
BUNDLE=${BUNDLE:-$(dirname "$0")/../config/default}
# The finalizer of classes; see apis/samplecrd/v1.
HELD=networkclass.samplecrd.k8s.io/in-use

fail() {
	echo "undeploy: $*" >&2
	exit 1
}

# list prints what a resource has, one object a line, and nothing when there is no such
# resource: list RESOURCE TEMPLATE
list() {
	crd=$($KUBECTL get customresourcedefinition "$1" --ignore-not-found --output=name) ||
		fail "the API server cannot be asked for $1"
	[ -n "$crd" ] || return 0
	$KUBECTL get "$1" --all-namespaces --output="go-template=$2" ||
		fail "the API server cannot be asked for $1"
}

# refuse ends the script if there is anything in a list: refuse WHAT LIST HOW
refuse() {
	[ -n "$2" ] || return 0
	count=$(printf '%s\n' "$2" | wc -l)
	some=$(printf '%s\n' "$2" | head -n 10 | paste -s -d , - | sed 's/,/, /g')
	[ "$count" -le 10 ] || some="$some, …"
	fail "$((count)) $1: $some. $3"
}

named='{{range .items}}{{.metadata.namespace}}/{{.metadata.name}}{{"\n"}}{{end}}'
held='{{range .items}}{{$name := .metadata.name}}{{range .metadata.finalizers}}{{if eq . "'$HELD'"}}{{$name}}{{"\n"}}{{end}}{{end}}{{end}}'

foos=$(list foos.samplecontroller.k8s.io "$named")
networks=$(list networks.samplecrd.k8s.io "$named")
classes=$(list networkclasses.samplecrd.k8s.io "$held")
refuse 'Foos exist' "$foos" 'Delete them first: kubectl delete foos.samplecontroller.k8s.io --all --all-namespaces'
refuse 'Networks exist' "$networks" 'Delete them first, while the manager runs: kubectl delete networks.samplecrd.k8s.io --all --all-namespaces'
refuse 'NetworkClasses are held by the manager' "$classes" 'Delete them first, while it runs: kubectl delete networkclasses.samplecrd.k8s.io --all'

$KUBECTL delete --kustomize "$BUNDLE" --ignore-not-found
